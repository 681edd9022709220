package api

import (
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/internal/task"
)

// unpacked reads a body of at most limit packed bytes as it is after unpacking; why tells an
// error of that to the sender.
func unpacked(r *http.Request, limit int64) (src io.Reader, why func(error) error, err error) {
	encoding := strings.ToLower(r.Header.Get("Content-Encoding"))
	switch encoding {
	case "", "identity":
		return r.Body, notRead, nil
	case "gzip", "x-gzip":
	default:
		return nil, nil, httpError(http.StatusUnsupportedMediaType, "Bodies are taken plain or with gzip, not with %q.", encoding)
	}
	packed := &packedBody{left: limit + 1, src: r.Body}
	why = packed.why
	src, err = gzip.NewReader(packed)
	if err != nil {
		return nil, nil, why(err)
	}
	return src, why, nil
}

// packedBody is a body before it is unpacked. It remembers how it ended.
type packedBody struct {
	src   io.Reader
	left  int64 // bytes that it may still have
	whole bool  // it came to its own end, wherever that is
}

// Read implements [io.Reader].
func (p *packedBody) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, io.EOF
	}
	n, err := p.src.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	p.whole = p.whole || errors.Is(err, io.EOF)
	return n, err
}

// why says why the body could not be unpacked: only what came whole can be blamed on the sender.
func (p *packedBody) why(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case corrupt, errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return httpError(http.StatusBadRequest, "The request body is not the gzip that its Content-Encoding says.")
	case p.left <= 0:
		return errTooLong
	case p.whole:
		return httpError(http.StatusBadRequest, "The compressed request body ends early: the rest of its gzip is missing. Close the compressor before you send.")
	}
	return notRead(err)
}

// notRead says that a body did not come whole. That is no fault of what was sent, so it is
// none of the statuses after which a sender gives up.
func notRead(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return httpError(http.StatusRequestTimeout, "The request body did not come in time. Send it again.")
	}
	return httpError(http.StatusRequestTimeout, "The request ended before its body was whole. Send it again.")
}

// decode reads the body of a route in the old wire form: unknown fields are ignored, of a
// field that is given twice the last counts, and every fault is [task.CodeInvalid].
func decode(body []byte, into any) error {
	err := jsonv2.Unmarshal(body, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return nil
	}
	// The other decoder explains better what is wrong, but is no judge: it takes names in any case.
	if said := explain(json.Unmarshal(body, reflect.New(reflect.TypeOf(into).Elem()).Interface())); said != nil {
		return said
	}
	return task.Invalid("", "The request body is not of the expected form: %s.", err)
}

func explain(err error) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return task.Invalid(wrong.Field, "The field %s must be %s, not %s.", orBody(wrong.Field), kindOf(wrong), wrong.Value)
	}
	return task.Invalid("", "The request body is no well-formed JSON: %s.", err)
}

func orBody(field string) string {
	if field == "" {
		return "body"
	}
	return field
}

func kindOf(wrong *json.UnmarshalTypeError) string {
	switch wrong.Type.Kind().String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice":
		return "a list"
	case "struct", "map":
		return "an object"
	}
	return "a number"
}
