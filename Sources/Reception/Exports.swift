// What goes into a session and what comes out of it is declared in these modules.
@_exported public import Bitstream
@_exported public import Defragment
@_exported public import NIOCore
@_exported public import RTPWire
