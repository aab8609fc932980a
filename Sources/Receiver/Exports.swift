// Whoever iterates over frames reads their members, which are declared in the rooms before this
// one.
@_exported public import Bitstream
@_exported public import Decode
@_exported public import Defragment
@_exported public import RTPWire
@_exported public import Reception
@_exported public import Transports
