package scripted

import (
	"encoding/json"
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
