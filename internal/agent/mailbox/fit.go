package mailbox

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/ingest/transcriptcut"
)

const (
	// mostTranscript is what an outbox takes of the transcript in an event, in characters; the rest
	// is for the event, and for what else waits.
	mostTranscript = maxRequests - 2<<20
	readStep       = 1 << 20
)

// fit makes a request with an event whose transcript no outbox takes one that does: of the
// transcript the newest part is kept, and the API is told how much is missing, as if it had cut it
// itself. Any other request stays as it is.
func fit(req *http.Request) (*http.Request, error) {
	known := req.ContentLength >= 0 && req.ContentLength <= mostTranscript
	if known || req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/events") || req.Header.Get("Content-Encoding") != "" {
		return req, nil
	}
	body, cut, err := shortened(req.Body)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(body), int64(body.Len()), nil
	if cut > 0 {
		query := out.URL.Query()
		query.Set("transcript_cut_bytes", strconv.FormatInt(cut, 10))
		out.URL.RawQuery = query.Encode()
	}
	return out, nil
}

// shortened reads an event while it comes, so that a long transcript is never in memory. What is
// too long without it is not read to its end.
func shortened(src io.ReadCloser) (body *bytes.Buffer, cut int64, err error) {
	defer func() { _ = src.Close() }()
	body = new(bytes.Buffer)
	long := transcriptcut.New(body, mostTranscript)
	for n := int64(1); n > 0 && body.Len() <= maxRequests; {
		if n, err = body.ReadFrom(io.LimitReader(src, readStep)); err != nil {
			return nil, 0, err
		}
		long.Scan()
	}
	return body, long.Cut(), nil
}
