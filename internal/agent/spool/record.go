package spool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant table

// Record is a numbered event. Body is the JSON object for the API.
type Record struct {
	N    int64
	Body json.RawMessage
	at   int64 // milliseconds of [Clock]; zero: unknown
}

// encode returns a record as one line: checksum, number, time, JSON. The checksum includes the number, so that a copied
// line does not pass as another event.
func encode(r Record) []byte {
	payload := fmt.Appendf(make([]byte, 0, len(r.Body)+48), "%d %d %s", r.N, r.at, r.Body)
	return fmt.Appendf(make([]byte, 0, len(payload)+10), "%s %s\n", sumOf(payload), payload)
}

func sumOf(payload []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(payload, castagnoli)) }

// decode parses a line without its newline; ok is false if any part is invalid.
func decode(line []byte) (r Record, ok bool) {
	sum, payload, _ := bytes.Cut(line, []byte{' '})
	if string(sum) != sumOf(payload) {
		return Record{}, false
	}
	number, rest, _ := bytes.Cut(payload, []byte{' '})
	clock, body, _ := bytes.Cut(rest, []byte{' '})
	n, err := strconv.ParseInt(string(number), 10, 64)
	at, atErr := strconv.ParseInt(string(clock), 10, 64)
	return Record{N: n, Body: bytes.Clone(body), at: at}, err == nil && atErr == nil && n > 0 && json.Valid(body)
}
