package checkpoints

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

// refusedError reports that the API rejects a checkpoint, or all further ones of this attempt.
type refusedError struct {
	answer apiclient.Answer
	final  bool  // all further checkpoints are rejected
	cause  error // why the request was not repeated; nil: the answer is not temporary
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the API answered %d %s", e.answer.Status, e.answer.Code)
}

func (e *refusedError) Unwrap() error { return e.cause }

// send sends the pack at path and seals the checkpoint.
func send(ctx context.Context, line *apiclient.Client, number int, path string, said checkpoint.Sealed) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open pack: %w", err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if said.PackBytes, err = io.Copy(sum, f); err != nil {
		return fmt.Errorf("read pack: %w", err)
	}
	said.PackSHA256 = hex.EncodeToString(sum.Sum(nil))
	to := "/checkpoints/" + strconv.Itoa(number)
	if err := sendPack(ctx, line, to+"/pack", f, said.PackBytes); err != nil {
		return err
	}
	body, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("encode checkpoint: %w", err)
	}
	_, err = put(ctx, line, to, "application/json", body)
	return err
}

// put repeats a request until the API answers it, or ctx ends.
func put(ctx context.Context, line *apiclient.Client, to, media string, body []byte) (apiclient.Answer, error) {
	answer, err := apiclient.Insist(ctx, func() (apiclient.Answer, error) { return line.PutBinary(ctx, to, media, body) })
	return answer, accepted(answer, err)
}

// sendPack sends a pack in chunks, from where the API has it.
func sendPack(ctx context.Context, line *apiclient.Client, to string, f io.ReaderAt, size int64) error {
	for at := int64(0); at < size; {
		chunk := make([]byte, min(checkpoint.MaxChunk, size-at))
		if _, err := f.ReadAt(chunk, at); err != nil {
			return fmt.Errorf("read pack: %w", err)
		}
		answer, err := put(ctx, line, to+"?offset="+strconv.FormatInt(at, 10), "application/octet-stream", chunk)
		if err != nil {
			return err
		}
		var has checkpoint.Received
		if err := json.Unmarshal(answer.Body, &has); err != nil {
			return fmt.Errorf("read the API's answer: %w", err)
		}
		if has.Received <= at || has.Received > at+int64(len(chunk)) { // the answer of a chunk may have been lost
			return errors.New("the API has another pack of this number")
		}
		at = has.Received
	}
	return nil
}

// accepted returns the error of an answer other than a success.
func accepted(answer apiclient.Answer, err error) error {
	switch {
	case err != nil && answer.Status != 0:
		return &refusedError{answer: answer, cause: err}
	case err != nil:
		return err
	case answer.Status == http.StatusOK:
		return nil
	}
	gone := answer.Status == http.StatusGone || answer.Status == http.StatusNotFound || answer.Status == http.StatusForbidden
	return &refusedError{answer: answer, final: answer.Code != "" && gone}
}
