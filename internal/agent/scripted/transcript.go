package scripted

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// TranscriptName is the transcript's name in the agent's folder.
const TranscriptName = "transcript.jsonl"

// transcript keeps what the agent said and did, one JSON object a line.
type transcript struct {
	path    string
	session string
	file    *os.File
}

// entry is what this runtime reads of a line.
type entry struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Turn int    `json:"turn"`
}

// remember goes on from the transcript of an earlier attempt: it stands before this one's own
// lines, the turns go on counting, and what was said last may be used.
func (r *run) remember() {
	if r.env.Resume == nil || r.place.Recalled {
		return
	}
	if err := r.recall(); err != nil {
		r.env.Log.Warn("the earlier transcript cannot be read", slog.Any("error", err))
	}
	r.place.Recalled = true
	r.save()
}

func (r *run) recall() error {
	from, err := os.Open(r.env.Resume.Path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(filepath.Join(r.env.Config.Dir, TranscriptName), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	lines := bufio.NewReader(io.TeeReader(from, to))
	for {
		line, err := lines.ReadBytes('\n')
		var e entry
		if json.Unmarshal(line, &e) == nil {
			r.place.Turn = max(r.place.Turn, e.Turn)
			if e.Type == "say" {
				r.place.Remembered = e.Text
			}
		}
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0: // the next line is not to continue it
			_, err := to.WriteString("\n")
			return err
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the earlier transcript: %w", err)
		}
	}
}

func openTranscript(dir, session string) *transcript {
	t := &transcript{path: filepath.Join(dir, TranscriptName), session: session}
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		t.file = f
	}
	return t
}

// note adds a line; a disk that refuses costs the line and nothing else.
func (t *transcript) note(kind, text string, turn int) {
	if t.file == nil {
		return
	}
	line, err := json.Marshal(map[string]any{
		"type": kind, "text": text, "turn": turn, "session_id": t.session, "timestamp": time.Now().UTC(),
	})
	if err == nil {
		_, _ = t.file.Write(append(line, '\n'))
	}
}

func (t *transcript) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}
