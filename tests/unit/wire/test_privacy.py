"""What people paste elsewhere names nobody."""

from pathlib import Path

from diffusionforce.wire.privacy import without_names


def test_names_leave_a_text_whichever_system_wrote_them():
    text = r"C:\Users\Ada\x /home/ada/y ada@box C:/Users/Bob/z /root/w adapter boxes"
    cleaned = without_names(text, home=Path("/home/ada"), user="ada", host="box")
    assert cleaned == r"C:\Users\user\x ~/y user@computer C:/Users/user/z /root/w adapter boxes"
