package api

import (
	"bytes"
	"io"

	"github.com/omoi-dev/omoi/internal/ingest/transcriptcut"
)

const (
	// longestReport bounds what is read of one event, of which a transcript may be the most.
	longestReport = 256 << 20
	longStep      = 1 << 20
)

// readLong goes on with the body of an event that is longer than limit. A worker of the replaced
// system puts what its run has said into its last event, and sends that until it is taken: of a
// transcript only the end is kept, while it comes. All the rest of the body must be within limit.
func (r report) readLong(limit int64, into *bytes.Buffer) error {
	long := transcriptcut.New(into, r.transcript)
	for total := limit + 1; ; {
		r.part.give(long.Scan())
		if int64(into.Len()-long.Kept()) > limit || total > longestReport {
			return errTooLong
		}
		n, err := into.ReadFrom(io.LimitReader(r.part, longStep))
		total += n
		if n == 0 || err != nil {
			r.part.cut = long.Cut()
			return err
		}
	}
}
