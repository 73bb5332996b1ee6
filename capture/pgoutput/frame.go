package pgoutput

import (
	"encoding/binary"

	"cdc/schema"
)

// The letters of the frames inside CopyData.
const (
	XLogDataByte     byte = 'w'
	KeepaliveByte    byte = 'k'
	StatusUpdateByte byte = 'r'
)

// XLogData carries one message of the plugin. Its LSNs say nothing about
// progress: RELATION and TYPE come with zero.
type XLogData struct {
	Start    schema.LSN // of a row change: its own LSN
	End      schema.LSN
	SendTime schema.Micros
	Data     []byte // aliases the buffer
}

// Keepalive is the primary keepalive message.
type Keepalive struct {
	WALEnd         schema.LSN // all commits below it have been sent on this connection
	SendTime       schema.Micros
	ReplyRequested bool
}

// ParseXLogData parses a frame whose first byte is XLogDataByte.
func ParseXLogData(b []byte) (XLogData, error) {
	r := open(b, XLogDataByte)
	x := XLogData{Start: r.lsn(), End: r.lsn(), SendTime: r.time()}
	if r.err != nil {
		return XLogData{}, wrap("XLogData", r.err)
	}
	x.Data = r.b
	return x, nil
}

// ParseKeepalive parses a frame whose first byte is KeepaliveByte.
func ParseKeepalive(b []byte) (Keepalive, error) {
	r := open(b, KeepaliveByte)
	k := Keepalive{WALEnd: r.lsn(), SendTime: r.time(), ReplyRequested: r.byte() != 0}
	return k, wrap("keepalive", r.end())
}

// AppendStatusUpdate appends a complete CopyData message with a standby status
// update whose write, flush and apply positions all are confirmed, so that the
// server never learns of a position that isn't confirmed. If reply is set the
// server answers with a keepalive at once.
func AppendStatusUpdate(dst []byte, confirmed schema.LSN, now schema.Micros, reply bool) []byte {
	const length = 4 + 1 + 3*8 + 8 + 1
	dst = append(dst, 'd')
	dst = binary.BigEndian.AppendUint32(dst, length)
	dst = append(dst, StatusUpdateByte)
	for range 3 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(confirmed))
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(now-postgresEpoch))
	if reply {
		return append(dst, 1)
	}
	return append(dst, 0)
}
