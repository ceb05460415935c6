"""What S3 tells of times, read as its own package reads it."""

import botocore.session
import pytest
from botocore.utils import parse_timestamp
from fsspec.asyn import get_loop, sync

from branch_console.storage.s3_session import new_session, read_time


@pytest.mark.parametrize(
    "told",
    [
        "2026-11-25T03:04:05.678Z",
        "2026-11-25T03:04:05Z",
        "2026-11-25T03:04:05.678901Z",
        "2026-11-25T04:04:05+01:00",
        "Wed, 25 Nov 2026 03:04:05 GMT",
        "1795575845",
        1795575845.25,
    ],
)
def test_a_time_is_what_the_package_of_s3_takes_it_for(told: str | float) -> None:
    assert read_time(told) == parse_timestamp(told)


def test_a_listing_keeps_the_times_of_its_files() -> None:
    parsers = new_session({}).get_component("response_parser_factory")
    told = b"<LastModified>2026-11-25T03:04:05.678Z</LastModified>"
    listing = b"<ListBucketResult><Contents><Key>a</Key>" + told + b"</Contents></ListBucketResult>"
    model = botocore.session.get_session().get_service_model("s3")
    shape = model.operation_model("ListObjectsV2").output_shape
    answer = {"status_code": 200, "headers": {}, "body": listing}
    # Where s3fs runs it: this thread may hold the loop of a browser that other tests share.
    found = sync(get_loop(), parsers.create_parser("rest-xml").parse, answer, shape)
    assert found["Contents"][0]["LastModified"].timestamp() == 1795575845.678


def test_what_is_no_time_is_an_error() -> None:
    with pytest.raises(ValueError, match="never"):
        read_time("never, as far as we know Z")
