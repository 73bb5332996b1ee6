package pubsubtest

import "encoding/binary"

// ackID names one delivery of one message: a new one each time, so that an old
// one never acks a later delivery.
type ackID struct {
	sub  uint32 // number of the subscription on this server
	slot uint32
	gen  uint32
}

const (
	ackIDAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ackIDDigits   = 21 // 12 bytes and a checksum byte, 5 bits a digit
	minAckIDBytes = 32
)

// appendAckID appends the text of id, length bytes long. It is opaque to
// clients: digits and filler, with a checksum that finds a malformed one.
func appendAckID(dst []byte, id ackID, length int) []byte {
	var raw [13]byte
	binary.BigEndian.PutUint32(raw[0:], id.sub)
	binary.BigEndian.PutUint32(raw[4:], id.slot)
	binary.BigEndian.PutUint32(raw[8:], id.gen)
	raw[12] = checksum(raw[:12])
	acc, bits := uint32(0), 0
	for _, b := range raw {
		acc = acc<<8 | uint32(b)
		for bits += 8; bits >= 5; bits -= 5 {
			dst = append(dst, ackIDAlphabet[acc>>(bits-5)&31])
		}
	}
	dst = append(dst, ackIDAlphabet[acc<<(5-bits)&31])
	for n := ackIDDigits; n < length; n++ {
		dst = append(dst, '_')
	}
	return dst
}

// parseAckID reads an id of the given length; ok is false for any text that
// this server did not make.
func parseAckID(text []byte, length int) (id ackID, ok bool) {
	if len(text) != length {
		return ackID{}, false
	}
	var raw [14]byte
	acc, bits, n := uint32(0), 0, 0
	for _, c := range text[:ackIDDigits] {
		v := ackIDValues[c]
		if v < 0 {
			return ackID{}, false
		}
		acc, bits = acc<<5|uint32(v), bits+5
		if bits >= 8 {
			bits -= 8
			raw[n] = byte(acc >> bits)
			n++
		}
	}
	if raw[12] != checksum(raw[:12]) {
		return ackID{}, false
	}
	return ackID{
		sub:  binary.BigEndian.Uint32(raw[0:]),
		slot: binary.BigEndian.Uint32(raw[4:]),
		gen:  binary.BigEndian.Uint32(raw[8:]),
	}, true
}

var ackIDValues = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := range len(ackIDAlphabet) {
		t[ackIDAlphabet[i]] = int8(i)
	}
	return t
}()

func checksum(raw []byte) byte {
	sum := byte(0x5a)
	for _, b := range raw {
		sum = sum*31 + b
	}
	return sum
}
