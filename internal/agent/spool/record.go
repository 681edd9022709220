package spool

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant table

// Record is one numbered event: Body is the JSON object that goes to the API as it is.
type Record struct {
	N    int64
	Body json.RawMessage
	at   int64 // milliseconds of [Clock]; zero if not known
}

// encode frames a record as one line: checksum, number, time, JSON. The checksum covers the
// number too, so that a line copied elsewhere is not taken for another event.
func encode(r Record) []byte {
	payload := strconv.AppendInt(make([]byte, 0, len(r.Body)+48), r.N, 10)
	payload = append(payload, ' ')
	payload = strconv.AppendInt(payload, r.at, 10)
	payload = append(payload, ' ')
	payload = append(payload, r.Body...)
	line := make([]byte, 0, len(payload)+10)
	line = appendSum(line, payload)
	line = append(line, ' ')
	line = append(line, payload...)
	return append(line, '\n')
}

func appendSum(dst, payload []byte) []byte {
	const digits = "0123456789abcdef"
	sum := crc32.Checksum(payload, castagnoli)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[sum>>shift&0xf])
	}
	return dst
}

// decode reads one line without its newline; ok is false if anything about it is wrong.
func decode(line []byte) (r Record, ok bool) {
	if len(line) < 11 || line[8] != ' ' {
		return Record{}, false
	}
	payload := line[9:]
	if !bytes.Equal(line[:8], appendSum(nil, payload)) {
		return Record{}, false
	}
	number, rest, _ := bytes.Cut(payload, []byte{' '})
	clock, body, _ := bytes.Cut(rest, []byte{' '})
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n < 1 {
		return Record{}, false
	}
	at, err := strconv.ParseInt(string(clock), 10, 64)
	if err != nil || !json.Valid(body) {
		return Record{}, false
	}
	return Record{N: n, Body: bytes.Clone(body), at: at}, true
}
