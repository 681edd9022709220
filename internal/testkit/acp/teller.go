package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Teller tells recorded changes of a session as opencode's server does.
type Teller struct {
	Session, Printed string // ID of the session, and what its tool has printed
	User, Password   string
}

// Changes returns the recorded changes, for a workspace.
func (t Teller) Changes(work string) [][]byte {
	text, err := files.ReadFile("frames/opencode-changes.jsonl")
	if err != nil {
		panic(err)
	}
	made := strings.NewReplacer("SESSION", t.Session, "/recorded/ws", work, "planted-output", t.Printed).Replace(string(text))
	return bytes.Split([]byte(strings.TrimSpace(made)), []byte("\n"))
}

// ServeHTTP tells all changes at once, so that a reader of the greeting has them, and then nothing. The session is
// empty before.
func (t Teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	switch all := t.Changes(r.URL.Query().Get("directory")); {
	case user != t.User || password != t.Password:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/event":
		_, _ = w.Write(append(append([]byte("data: "), bytes.Join(all, []byte("\n\ndata: "))...), "\n\n"...))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case r.URL.Path == "/session/"+t.Session:
		_, _ = w.Write(session(all))
	case r.URL.Path == "/session/"+t.Session+"/message":
		_, _ = io.WriteString(w, "[]")
	default:
		http.NotFound(w, r)
	}
}

// session returns the first state of the session.
func session(changes [][]byte) []byte {
	for _, raw := range changes {
		var c struct {
			Type string `json:"type"`
			Of   struct {
				Info json.RawMessage `json:"info"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			panic(err)
		}
		if c.Type == "session.updated" {
			return c.Of.Info
		}
	}
	panic("no change of the session was recorded")
}
