package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// errTooLong is told to the sender with the limit that it met.
var errTooLong = errors.New("the body is too long")

// readBody reads a body of at most limit bytes, as it is after unpacking. What it refuses it
// reads all the same, within bounds: whoever sends all before it reads would meet a reset
// connection instead of the answer.
func readBody(said report, limit int64, into *bytes.Buffer) error {
	err := said.read(limit, into)
	if err == nil {
		err = said.part.whole()
	}
	switch {
	case errors.Is(err, errTooLong):
		said.drop(into)
		return httpError(http.StatusRequestEntityTooLarge, tooLong, inBytes(limit))
	case errors.Is(err, errNoRoom):
		said.drop(into)
		return noRoom()
	case errors.Is(err, errTooSlow):
		return notRead(said.Request, os.ErrDeadlineExceeded)
	}
	return err
}

// drop takes no room while the rest comes.
func (r report) drop(body *bytes.Buffer) {
	*body = bytes.Buffer{}
	r.part.leave()
	r.drain()
}

func (r report) read(limit int64, into *bytes.Buffer) error {
	longest := limit
	if r.transcript > 0 {
		longest = longestReport
	}
	if r.ContentLength > longest {
		return errTooLong
	}
	src, why, err := unpacked(r.Request, longest)
	if err != nil {
		return err
	}
	r.part.src = src
	if src == io.Reader(r.Body) && r.ContentLength > 0 {
		r.part.all = r.ContentLength
	}
	n, err := into.ReadFrom(io.LimitReader(r.part, limit+1))
	if err == nil && n > limit && r.transcript > 0 {
		err = r.readLong(limit, into)
	} else if err == nil && n > limit {
		err = errTooLong
	}
	if err == nil || errors.Is(err, errTooLong) || errors.Is(err, errNoRoom) || errors.Is(err, errTooSlow) {
		return err
	}
	return why(err)
}

const (
	drainBytes    = 64 << 20
	drainPatience = 10 * time.Second
)

// drain takes what is left of a body that nobody wants. A sender that waits to be told to go on
// has sent nothing yet. A deadline that is left behind ends a sender that has not come to its end.
func (r report) drain() {
	if r.part.read == 0 && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	_ = r.part.conn.SetReadDeadline(time.Now().Add(drainPatience)) // not every server can: then its own timeout holds
	if n, err := io.Copy(io.Discard, io.LimitReader(r.Body, drainBytes)); err == nil && n < drainBytes {
		_ = r.part.conn.SetReadDeadline(time.Time{})
	}
}
