from diffusionforce.gui.model.devices import DeviceList, short_name
from diffusionforce.wire import DevicePlacement, DeviceReading, Placed


def placed(*devices: str) -> Placed:
    blocks = ((0, 1, 2), (3, 4))
    return Placed(
        devices=tuple(
            DevicePlacement(device=d, name="NVIDIA GeForce RTX 3060", blocks=blocks[i], weights_bytes=10)
            for i, d in enumerate(devices)
        ),
        num_blocks=5,
        schedule="turns",
    )


def test_cards_are_called_by_their_number():
    devices = DeviceList()
    devices.place(placed("cuda:0", "cuda:1"))
    assert [view.label for view in devices.views] == ["GPU 0", "GPU 1"]
    assert devices.views[0].name == "RTX 3060"
    assert devices.sentence() == "blocks 0–2 on GPU 0, 3–4 on GPU 1"


def test_one_processor_is_not_called_a_stage():
    devices = DeviceList()
    devices.place(placed("cpu"))
    assert devices.views[0].label == "CPU"
    assert devices.sentence() == "all 5 blocks on CPU"


def test_a_processor_that_plays_two_devices_keeps_them_apart():
    devices = DeviceList()
    devices.place(placed("cpu", "cpu"))
    devices.read((DeviceReading(device="cpu", busy=0.2), DeviceReading(device="cpu", busy=0.7)))
    assert [view.label for view in devices.views] == ["CPU, stage 1", "CPU, stage 2"]
    assert [list(view.busy) for view in devices.views] == [[0.2], [0.7]]


def test_the_peak_is_the_highest_reading_so_far():
    devices = DeviceList()
    devices.place(placed("cuda:0"))
    for used, peak in ((100, 150), (80, None), (120, None)):
        devices.read((DeviceReading(device="cuda:0", memory_bytes=used, peak_bytes=peak, memory_total_bytes=1000),))
    view = devices.views[0]
    assert (view.memory_bytes, view.peak_bytes, view.total_bytes) == (120, 150, 1000)


def test_a_device_that_says_nothing_keeps_its_last_reading():
    devices = DeviceList()
    devices.place(placed("cuda:0", "cuda:1"))
    devices.read((DeviceReading(device="cuda:0", memory_bytes=1), DeviceReading(device="cuda:1", memory_bytes=2)))
    devices.read((DeviceReading(device="cuda:1", memory_bytes=3),))
    assert [view.memory_bytes for view in devices.views] == [1, 3]


def test_readings_without_a_placement_still_show():
    devices = DeviceList()
    devices.read((DeviceReading(device="cuda:0", memory_bytes=1),))
    assert [view.label for view in devices.views] == ["GPU 0"]


def test_names_lose_what_nobody_reads():
    assert short_name("NVIDIA GeForce RTX 4070 Ti SUPER") == "RTX 4070 Ti SUPER"
    assert short_name("Intel(R) Core(TM) i7 CPU") == "Intel Core i7"
