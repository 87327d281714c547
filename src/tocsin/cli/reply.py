"""`reply`: replies to publications, and what they cost."""

from tocsin.cli.options import group
from tocsin.cli.reply_plans import show_plan
from tocsin.cli.reply_simulations import simulate

application = group(
    "Replies to publications, and what they cost.",
    "tocsin reply simulate --branching 3 --height 6 --values 5 --algorithm dispatcher",
)
application.command(
    epilog="Example: tocsin reply simulate --branching 2 --height 10 --values 5 --algorithm message --json"
)(simulate)
application.command(
    "plan",
    epilog="Example: tocsin reply plan --branching 4 --height 6 --publications 100 --per-publisher 5 --values 20",
)(show_plan)
