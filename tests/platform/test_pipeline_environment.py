"""What the pipeline's process is told beside its arguments."""

from tocsin.broker.settings import load
from tocsin.platform.pipeline_process import environment


def test_where_tables_are_goes_by_environment_and_is_read_again() -> None:
    told = load({"pipeline-tables": "s3://b/t", "pipeline-tables-options": "AWS_SECRET_ACCESS_KEY=hush"}, {})
    again = load({}, {name: text for name, text in environment(told).items() if name.startswith("TOCSIN_PIPELINE")})
    assert again.pipeline == told.pipeline
