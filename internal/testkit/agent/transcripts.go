package agent

import (
	"compress/gzip"
	"io"
	"net/http"
	"path"
	"strconv"

	"github.com/omoi-dev/omoi/internal/transcript"
)

// Transcript is what a server keeps of one run.
type Transcript struct {
	Content   string
	SessionID string
	Pieces    int // that were sent, repeats and refused ones too
}

// transcript takes and gives transcripts as the real API does.
func (s *Server) transcript(w http.ResponseWriter, r *http.Request) {
	body := []byte(nil)
	if r.Method == http.MethodPut {
		if z, err := gzip.NewReader(r.Body); err == nil {
			body, _ = io.ReadAll(z)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	fault := Fault{}
	if s.TranscriptFaultOf != nil {
		fault = s.TranscriptFaultOf(s.reads)
	}
	switch {
	case fault.CutBefore:
		panic(http.ErrAbortHandler)
	case fault.Foreign:
		http.Error(w, "<html>no", fault.Status)
		return
	case fault.Status != 0:
		answer(w, fault.Status, map[string]any{"detail": "a fault"})
		return
	case r.Method == http.MethodGet:
		s.giveTranscript(w, r, fault)
		return
	}
	mark := s.keep(path.Base(r.URL.Path), body, r)
	s.touch()
	if fault.CutAfter {
		panic(http.ErrAbortHandler)
	}
	answer(w, http.StatusOK, mark)
}

func (s *Server) giveTranscript(w http.ResponseWriter, r *http.Request, fault Fault) {
	kept, ok := s.transcripts[path.Base(r.URL.Path)]
	if !ok {
		answer(w, http.StatusNotFound, map[string]any{"detail": "none"})
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(kept.Content)))
	if fault.CutAfter {
		_, _ = io.WriteString(w, kept.Content[:len(kept.Content)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(w, kept.Content)
}

func (s *Server) keep(run string, body []byte, r *http.Request) map[string]any {
	t := s.transcripts[run]
	if t == nil {
		t = &Transcript{}
		s.transcripts[run] = t
	}
	t.Pieces++
	q := r.URL.Query()
	if q.Get("replace") == "true" {
		t.Content = ""
	}
	offset, _ := strconv.Atoi(q.Get("offset"))
	before, _ := strconv.ParseUint(q.Get("sum"), 10, 32)
	stored := offset == len(t.Content) && uint32(before) == transcript.Sum(0, []byte(t.Content))
	if stored {
		t.Content += string(body)
		t.SessionID = q.Get("session_id")
	}
	return map[string]any{
		"stored": stored, "received": len(t.Content), "sum": transcript.Sum(0, []byte(t.Content)), "cut_bytes": 0,
	}
}

// Keep puts a transcript there, as an earlier attempt would have.
func (s *Server) Keep(run, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transcripts[run] = &Transcript{Content: content}
}

// Transcripts returns what is kept, by run.
func (s *Server) Transcripts() map[string]Transcript {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.TranscriptsLocked()
}

// TranscriptsLocked is Transcripts for FaultOf and Refuse, which are asked under the lock.
func (s *Server) TranscriptsLocked() map[string]Transcript {
	out := map[string]Transcript{}
	for run, t := range s.transcripts {
		out[run] = *t
	}
	return out
}
