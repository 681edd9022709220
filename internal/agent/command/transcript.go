package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent"
)

const (
	transcriptName = "transcript.jsonl"
	maxTranscript  = 64 << 20 // beyond it nothing more is noted
)

// transcript keeps the event lines of a program that speaks them, behind those of an earlier attempt.
// There is none of another program: it may send its own.
type transcript struct {
	env  agent.Env
	path string
	file *os.File
	size int64
}

func openTranscript(env agent.Env) *transcript {
	return &transcript{env: env, path: filepath.Join(env.Config.Dir, transcriptName)}
}

// note adds a line; a disk that refuses costs the line and nothing else.
func (t *transcript) note(e *eventLine) {
	if t.file == nil && !t.begin() {
		return
	}
	line, err := json.Marshal(e)
	if err != nil || t.size > maxTranscript {
		return
	}
	n, _ := t.file.Write(append(line, '\n'))
	t.size += int64(n)
}

func (t *transcript) begin() bool {
	_, err := os.Stat(t.path)
	if errors.Is(err, os.ErrNotExist) && t.env.Resume != nil {
		if err := t.recall(); err != nil {
			t.env.Log.Warn("the earlier transcript cannot be read", slog.Any("error", err))
		}
	}
	t.file, err = os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	if info, err := t.file.Stat(); err == nil {
		t.size = info.Size()
	}
	t.env.Keep(t.path, t.env.SessionID)
	return true
}

// recall copies whole lines only: the next one is not to continue what was cut off.
func (t *transcript) recall() error {
	from, err := os.Open(t.env.Resume.Path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(t.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
}

func (t *transcript) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}
