"""Pull-1:n-implicit by broadcast: a nurse asks for lab results, and a doctor who listens on the channel has them too.

python examples/patterns/lab_results.py [http://127.0.0.1:8080]
"""

import asyncio
import sys

from tocsin import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"


async def main() -> None:
    async with Client(BROKER) as client:
        await client.world.load({"topics": {"Lab Results": None}, "categories": {"Wards": None, "Labs": None}})
        async with (
            client.serving("Nurse", ["Wards"]) as nurse,
            client.serving("Laboratory", ["Labs"]) as laboratory,
            client.pulling(topic="ward/lab/patient-12") as her_doctor,
            client.pulling(topic="ward/lab/patient-99") as another_doctor,
        ):
            await client.ask(
                "pull-1:n-implicit",
                "Lab Results",
                {"patient": 12},
                by="Nurse",
                of="Laboratory",
                also="channel",
                channel="ward/lab/patient-12",
            )
            (asked,) = await client.pull(laboratory.subscription, wait=30)
            await client.answer(asked, {"haemoglobin": 14.1}, by="Laboratory")
            for name, box in {"nurse": nurse.subscription, "doctor": her_doctor.id}.items():
                (found,) = await client.pull(box, wait=30)
                print(f"the {name} has {found.payload.data.decode()}")
            print(f"a doctor of another patient has {len(await client.pull(another_doctor))} results")


asyncio.run(main())
