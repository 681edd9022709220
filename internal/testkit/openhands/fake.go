package openhands

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/task"
)

// Fake is a server that plays a script where the real one asks a model. It has the traps of the real one: a lost message is another message,
// a message on the limit of runs is saved, the former status is read for a moment, and an unknown cursor starts at the beginning.
type Fake struct {
	URL, Key string
	// Fault returns what goes wrong with a request; the zero value: nothing.
	Fault func(r *http.Request) Fault

	script func(t *Turn)
	mu     sync.Mutex
	talks  map[string]*talk
	works  sync.WaitGroup
}

// Fault is what goes wrong with a request.
type Fault struct {
	Status int  // of the answer instead of the work; zero: the work is done
	Drop   bool // the work is done, and its answer is lost
	Save   bool // a message is saved and not started
	Hang   bool // there is no answer until the client gives up
	Cut    bool // the connection ends before the work
	Other  bool // a proxy answers with a page of its own, and a success
}

// Play plays a fault, and reports whether the request is answered; else next does the work.
func (f Fault) Play(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	switch {
	case f.Hang:
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
		<-r.Context().Done()
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Other:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Please log in.</body></html>")
	case f.Status != 0:
		answer(w, f.Status, map[string]any{"detail": "a fault"})
	case f.Drop:
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

// NewFake starts a server that ends with the test. script plays a run of a conversation.
func NewFake(t *testing.T, script func(t *Turn)) *Fake {
	t.Helper()
	f := &Fake{Key: "planted-server-key", Fault: func(*http.Request) Fault { return Fault{} }, script: script, talks: map[string]*talk{}}
	server := httptest.NewServer(f.routes(t))
	f.URL = server.URL
	t.Cleanup(func() {
		f.Forget()
		server.CloseClientConnections()
		server.Close()
		f.works.Wait()
	})
	return f
}

// Vars are the variables of a task that uses the server.
func (f *Fake) Vars() map[string]string {
	return map[string]string{
		"WORKSPACE_REMOTE_HOST": f.URL, "WORKSPACE_REMOTE_API_KEY": f.Key, "LLM_MODEL": "openai/gpt-4o", "LLM_API_KEY": "planted-model-key",
	}
}

// Forget deletes all conversations, as if the data of the server were gone.
func (f *Fake) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.talks {
		one.interrupt()
	}
	clear(f.talks)
}

// Has reports whether a conversation exists.
func (f *Fake) Has(id string) bool { return f.talk(id) != nil }

// Said returns the texts of the user in all conversations.
func (f *Fake) Said() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.talks {
		all = append(all, one.said()...)
	}
	return all
}

// known adds what every server answers.
func known(mux *http.ServeMux) {
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"version": openhands.Tested, "sdk_version": openhands.Tested, "tools_version": openhands.Tested, "usable_tools": []string{"terminal", "file_editor"}, "uptime": 3600,
		})
	})
	mux.HandleFunc("GET /api/conversations/count", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, 1) })
}

func (f *Fake) routes(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	known(mux)
	mux.HandleFunc("POST /api/conversations", f.create)
	for pattern, do := range map[string]func(one *talk, r *http.Request) (int, any){
		"GET /api/conversations/{id}":               (*talk).info,
		"GET /api/conversations/{id}/events/search": (*talk).search,
		"POST /api/conversations/{id}/events":       (*talk).hear,
		"POST /api/conversations/{id}/run":          (*talk).run,
		"POST /api/conversations/{id}/interrupt":    (*talk).stop,
		"DELETE /api/conversations/{id}":            (*talk).remove,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			one := f.talk(r.PathValue("id"))
			if one == nil {
				answer(w, http.StatusNotFound, map[string]any{"detail": "Not found"})
				return
			}
			status, body := do(one, r)
			answer(w, status, body)
		})
	}
	checked := described(t, mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(checked, w, r) })
}

// serve checks the key, and plays the fault of a request.
func (f *Fake) serve(mux http.Handler, w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") && r.Header.Get("X-Session-Api-Key") != f.Key {
		answer(w, http.StatusUnauthorized, map[string]any{"detail": "Unauthorized"})
		return
	}
	fault := f.Fault(r)
	if fault.Play(w, r, mux) {
		return
	}
	if fault.Save {
		r.Header.Set("X-Fake-Save", "1")
	}
	mux.ServeHTTP(w, r)
}

func (f *Fake) create(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		ID        string `json:"conversation_id"`
		Workspace struct {
			Dir string `json:"working_dir"`
		} `json:"workspace"`
	}
	_ = json.NewDecoder(r.Body).Decode(&ask)
	f.mu.Lock()
	status := http.StatusOK
	if f.talks[ask.ID] == nil {
		f.talks[ask.ID], status = &talk{fake: f, id: ask.ID, dir: ask.Workspace.Dir, status: openhands.StatusIdle}, http.StatusCreated
	}
	one := f.talks[ask.ID]
	f.mu.Unlock()
	_, body := one.info(r)
	answer(w, status, body)
}

func (f *Fake) talk(id string) *talk {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.talks[id]
}

func (f *Fake) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.talks, id)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // its own
}

// newID returns the ID of an event.
func newID() string { return task.NewID() }
