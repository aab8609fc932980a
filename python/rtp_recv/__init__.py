"""Frames of a camera as NumPy arrays, from the shared memory of rtp-recv.

    import rtp_recv

    with rtp_recv.open("rtsp://user@camera/stream", pixel_format="bgr24") as camera:
        while camera.wait(10):
            frame = camera.latest()
            print(frame.array.shape, frame.age)
        print(camera.reason, camera.message)

``open`` starts rtp-recv for this program alone. ``Ring(path)`` reads what another rtp-recv serves
with ``-o shm:PATH``, together with any number of other programs.
"""

from ._camera import Camera, CameraError, open
from ._frame import Colour, Condition, Frame
from ._memory import InvalidRing, State
from ._ring import Reason, Ring, RingLost, RingTimeout

__all__ = [
    "Camera",
    "CameraError",
    "Colour",
    "Condition",
    "Frame",
    "InvalidRing",
    "Reason",
    "Ring",
    "RingLost",
    "RingTimeout",
    "State",
    "open",
]
