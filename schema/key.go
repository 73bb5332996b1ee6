package schema

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// MaxOrderingKey is Pub/Sub's limit on an ordering key, in bytes
// (https://cloud.google.com/pubsub/docs/ordering: "up to 1 KB").
const MaxOrderingKey = 1024

// AppendKey appends the canonical text of a key: the columns in the order of the
// index, in Postgres text, `\` and `,` escaped by `\`, joined by `,`. Equal keys
// have equal texts and different keys different ones. A key has no nulls and no
// unchanged values: such a value counts as empty text.
func AppendKey(dst []byte, key Row) []byte {
	for i, v := range key {
		if i > 0 {
			dst = append(dst, ',')
		}
		for _, c := range v.Text {
			if c == '\\' || c == ',' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
	}
	return dst
}

// AppendOrderingKey appends the ordering key of a row of t under
// `ordering: primary_key`: schema.table| and the canonical key. If that is
// longer than MaxOrderingKey, the key part is sha256: and the hexadecimal
// SHA-256 of the canonical key.
func AppendOrderingKey(dst []byte, t *Table, key Row) []byte {
	start := len(dst)
	dst = appendTablePrefix(dst, t)
	prefix := len(dst)
	dst = AppendKey(dst, key)
	if len(dst)-start > MaxOrderingKey {
		sum := sha256.Sum256(dst[prefix:])
		dst = append(dst[:prefix], "sha256:"...)
		dst = hex.AppendEncode(dst, sum[:])
	}
	return dst
}

// AppendBucketKey appends the ordering key of a row of t under
// `ordering: hash: n`: schema.table|n/i, where i is the first 8 bytes of the
// canonical key's SHA-256, big-endian, modulo n. n is at least 1.
func AppendBucketKey(dst []byte, t *Table, n uint64, key Row) []byte {
	start := len(dst)
	dst = AppendKey(dst, key)
	sum := sha256.Sum256(dst[start:])
	dst = appendTablePrefix(dst[:start], t)
	dst = strconv.AppendUint(dst, n, 10)
	dst = append(dst, '/')
	return strconv.AppendUint(dst, binary.BigEndian.Uint64(sum[:8])%n, 10)
}

// AppendTableKey appends the ordering key of a table's control messages: schema.table|.
func AppendTableKey(dst []byte, t *Table) []byte { return appendTablePrefix(dst, t) }

func appendTablePrefix(dst []byte, t *Table) []byte {
	dst = append(dst, t.Schema...)
	dst = append(dst, '.')
	dst = append(dst, t.Name...)
	return append(dst, '|')
}
