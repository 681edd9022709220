package scripted

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

// TranscriptName is the transcript's name in the agent's folder.
const TranscriptName = "transcript.jsonl"

// entry is a line of the transcript: what the agent said or did.
type entry struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Turn      int       `json:"turn"`
	SessionID string    `json:"session_id"`
	Timestamp time.Time `json:"timestamp"`
}

// remember goes on from the transcript of an earlier attempt: it stands before this one's own
// lines, the turns go on counting, and what was said last may be used.
func (r *run) remember() {
	_, err := os.Stat(r.log.Path)
	if r.env.Resume == nil || !errors.Is(err, os.ErrNotExist) {
		return
	}
	if err := transcript.Recall(r.env.Resume.Path, r.log.Path, r.recall); err != nil {
		r.env.Log.Warn("earlier transcript not taken over", slog.Any("error", err))
	}
	r.save()
}

func (r *run) recall(line []byte) {
	var e entry
	if json.Unmarshal(line, &e) != nil {
		return
	}
	r.place.Turn = max(r.place.Turn, e.Turn)
	if e.Type == "say" {
		r.place.Remembered = e.Text
	}
}

func (r *run) note(kind, text string) {
	r.log.Note(entry{Type: kind, Text: text, Turn: r.place.Turn, SessionID: r.env.SessionID, Timestamp: time.Now().UTC()})
}
