package scripted

import (
	"encoding/json"
	"time"
)

// entry is a line of the transcript: what the agent said or did.
type entry struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Turn      int       `json:"turn"`
	SessionID string    `json:"session_id"`
	Timestamp time.Time `json:"timestamp"`
}

// recall takes in a line of an earlier attempt: the turns go on counting, and what was said last may be used.
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
