package api

import (
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/internal/task"
)

// unpacked returns a reader of the decompressed body, at most limit bytes compressed and decompressed. why converts a
// read error to an error for the sender; an [http.MaxBytesError] stays as it is.
func unpacked(r *http.Request, limit int64) (src io.Reader, why func(error) error, err error) {
	plain := http.MaxBytesReader(nil, r.Body, limit)
	encoding := strings.ToLower(r.Header.Get("Content-Encoding"))
	switch encoding {
	case "", "identity":
		return plain, func(err error) error { return notRead(r, err) }, nil
	case "gzip", "x-gzip":
	default:
		return nil, nil, httpError(http.StatusUnsupportedMediaType,
			"Unsupported content encoding %q: use gzip, or none.", encoding)
	}
	packed := &packedBody{src: plain, request: r}
	whole, err := gzip.NewReader(packed)
	if err != nil {
		return nil, nil, packed.why(err)
	}
	return http.MaxBytesReader(nil, whole, limit), packed.why, nil
}

// packedBody is a compressed body. It records how the body ended.
type packedBody struct {
	src   io.Reader
	whole bool // the body was received up to its end, whether or not it is valid

	request *http.Request
}

func (p *packedBody) Read(b []byte) (int, error) {
	n, err := p.src.Read(b)
	p.whole = p.whole || errors.Is(err, io.EOF)
	return n, err
}

// why returns why the body could not be decompressed. Only a completely received body can be the sender's fault.
func (p *packedBody) why(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case isTooLong(err):
		return err
	case corrupt, errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return httpError(http.StatusBadRequest, "Cannot decompress the request body: it is not valid gzip.")
	case p.whole:
		return httpError(http.StatusBadRequest, "Cannot decompress the request body: it ends early, or bytes follow its "+
			"gzip data. Next: close the compressor, and send nothing after it")
	}
	return notRead(p.request, err)
}

func isTooLong(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// notRead returns the error of a body that was not completely received. Its status makes the sender retry. Malformed
// chunks are the exception: a retry would send the same bytes.
func notRead(r *http.Request, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return httpError(http.StatusRequestTimeout, "The request body did not arrive in time. Next: send the request again")
	}
	if slices.Contains(r.TransferEncoding, "chunked") && !cutOff(err) {
		return httpError(http.StatusBadRequest, "Malformed chunked encoding of the request body.")
	}
	return httpError(http.StatusRequestTimeout, "The request ended before its body was complete. Next: send the request again")
}

// cutOff reports whether err is an error of the connection and not of the received bytes.
func cutOff(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrBodyReadAfterClose) || errors.Is(err, context.Canceled)
}

// decode decodes the body of a legacy route: unknown fields are ignored, the last of duplicate fields counts, and every
// error is [task.CodeInvalid].
func decode(body []byte, into any) error {
	err := jsonv2.Unmarshal(body, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return nil
	}
	// The other decoder has better messages, but accepts field names in any case and so does not decide.
	if said := decodeError(json.Unmarshal(body, reflect.New(reflect.TypeOf(into).Elem()).Interface())); said != nil {
		return said
	}
	return task.Invalid("", "Cannot read the request body: %s.", err)
}

func decodeError(err error) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return task.Invalid(wrong.Field, "The field %s must be %s, not %s.", cmp.Or(wrong.Field, "body"),
			kindOf(wrong), valueOf(wrong))
	}
	return task.Invalid("", "Invalid JSON in the request body: %s.", err)
}

func kindOf(wrong *json.UnmarshalTypeError) string {
	switch wrong.Type.Kind() { //nolint:exhaustive // no body holds the others
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// valueOf returns what the body has instead; the number itself if it is out of range.
func valueOf(wrong *json.UnmarshalTypeError) string {
	switch wrong.Value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	case "number", "string":
		return "a " + wrong.Value
	}
	return strings.TrimPrefix(wrong.Value, "number ")
}
