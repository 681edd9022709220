package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/transcript"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Fetch writes the transcript of a run of this task to a file. Fetch retries until ctx ends or the API answers that
// there is none. After an error the file does not exist.
func Fetch(ctx context.Context, line *apiclient.Client, runID, path string) error {
	return repeat(ctx, 200*time.Millisecond, func() (again bool, err error) { return fetchOnce(ctx, line, runID, path) })
}

// besideWait limits the fetch of the files next to an earlier transcript: most runs have none, and a session resumes
// without them.
const besideWait = 10 * time.Second

// FetchBeside is [Fetch] for the log of the files next to a transcript.
func FetchBeside(ctx context.Context, line *apiclient.Client, runID, path string) error {
	ctx, cancel := context.WithTimeout(ctx, besideWait)
	defer cancel()
	return Fetch(ctx, line, runID+transcript.Beside, path)
}

// repeat calls do until it succeeds, reports that a retry is useless, or ctx ends.
func repeat(ctx context.Context, delay time.Duration, do func() (again bool, err error)) error {
	for ; ; delay = min(2*delay, 10*time.Second) {
		again, err := do()
		if err == nil || !again || ctx.Err() != nil || wait.For(ctx, wait.Jitter(delay)) != nil {
			return err
		}
	}
}

func fetchOnce(ctx context.Context, line *apiclient.Client, runID, path string) (again bool, err error) {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("create transcript file: %w", err)
	}
	defer func() {
		_ = f.Close()
		if err != nil {
			_ = os.Remove(path + ".new")
		}
	}()
	answer, err := line.Fetch(ctx, "/transcripts/"+url.PathEscape(runID), f)
	switch {
	case err != nil:
		return true, err
	case answer.Status != http.StatusOK:
		return !final(answer), fmt.Errorf("the API answered %d", answer.Status)
	}
	if err := whole(f); err != nil {
		return false, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return false, fmt.Errorf("rename the transcript: %w", err)
	}
	return false, nil
}

// whole checks that the first and the last line are JSON.
func whole(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	first, last := make([]byte, min(info.Size(), maxLine)), make([]byte, min(info.Size(), maxLine))
	if _, err := f.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the transcript: %w", err)
	}
	if _, err := f.ReadAt(last, info.Size()-int64(len(last))); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the transcript: %w", err)
	}
	first, _, _ = bytes.Cut(first, []byte("\n"))
	last = bytes.TrimSuffix(last, []byte("\n"))
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	if !json.Valid(first) || !json.Valid(last) {
		return errors.New("the transcript does not consist of JSON lines")
	}
	return nil
}
