package toolbox

import (
	"net/http"
	"slices"
	"strings"
)

type commandBody struct {
	ID       string `json:"id"`
	Command  string `json:"command"`
	ExitCode *int   `json:"exitCode,omitempty"` // absent while it runs
}

type sessionBody struct {
	SessionID string        `json:"sessionId"`
	Commands  []commandBody `json:"commands"`
}

func (s *session) body() sessionBody {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := sessionBody{SessionID: s.id, Commands: []commandBody{}}
	for _, c := range s.commands {
		out.Commands = append(out.Commands, commandBody{c.id, c.text, c.exitCode()})
	}
	return out
}

func (d *daemon) session(r *http.Request) (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[r.PathValue("session")]; s != nil {
		return s, nil
	}
	return nil, &fault{http.StatusNotFound, "NOT_FOUND", "session not found"}
}

func (d *daemon) command(r *http.Request) (*session, *command, error) {
	s, err := d.session(r)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		if c.id == r.PathValue("command") {
			return s, c, nil
		}
	}
	return nil, nil, &fault{http.StatusNotFound, "PROCESS_NOT_FOUND", "command not found"}
}

func reserved(id string) error {
	if id == entrypoint {
		return badRequest("session entrypoint is reserved")
	}
	return nil
}

func (d *daemon) createSession(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	if err := reserved(in.SessionID); err != nil {
		return err
	}
	if in.SessionID == "" {
		return badRequest("sessionId is required")
	}
	if err := d.claim(in.SessionID); err != nil {
		return err
	}
	s, err := d.open(in.SessionID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		delete(d.sessions, in.SessionID)
		return &fault{http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", err.Error()}
	}
	d.sessions[in.SessionID] = s
	w.WriteHeader(http.StatusCreated)
	return nil
}

// claim takes a name before its shell is there, so that two calls do not both start one.
func (d *daemon) claim(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, there := d.sessions[id]; there {
		return &fault{http.StatusConflict, "CONFLICT", "session already exists"}
	}
	d.sessions[id] = nil
	return nil
}

func (d *daemon) listSessions(w http.ResponseWriter, _ *http.Request) error {
	d.mu.Lock()
	all := make([]*session, 0, len(d.sessions))
	for _, s := range d.sessions {
		if s != nil {
			all = append(all, s)
		}
	}
	d.mu.Unlock()
	slices.SortFunc(all, func(a, b *session) int { return strings.Compare(a.id, b.id) })
	out := make([]sessionBody, 0, len(all))
	for _, s := range all {
		out = append(out, s.body())
	}
	return answer(w, http.StatusOK, out)
}

func (d *daemon) getSession(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("session") == entrypoint {
		return answer(w, http.StatusOK, sessionBody{entrypoint, []commandBody{}})
	}
	s, err := d.session(r)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, s.body())
}

func (d *daemon) deleteSession(w http.ResponseWriter, r *http.Request) error {
	if err := reserved(r.PathValue("session")); err != nil {
		return err
	}
	s, err := d.session(r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.sessions, s.id)
	d.mu.Unlock()
	s.end(d.cfg.Grace)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// sessionExec queues a command. Async changes only when the answer comes.
func (d *daemon) sessionExec(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Command           string `json:"command"`
		RunAsync          bool   `json:"runAsync"`
		Async             bool   `json:"async"`
		SuppressInputEcho bool   `json:"suppressInputEcho"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	if err := reserved(r.PathValue("session")); err != nil {
		return err
	}
	s, err := d.session(r)
	if err != nil {
		return err
	}
	if in.Command == "" {
		return badRequest("command is required")
	}
	if ended(s.ended) {
		return &fault{http.StatusConflict, "SESSION_ENDED", "the shell of the session has ended"}
	}
	c := s.add(in.Command, !in.SuppressInputEcho)
	if in.RunAsync || in.Async {
		return answer(w, http.StatusAccepted, map[string]string{"cmdId": c.id})
	}
	return answerSync(w, r, c)
}

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// answerSync waits for the exit code, which never comes where the command ended its shell.
func answerSync(w http.ResponseWriter, r *http.Request, c *command) error {
	select {
	case <-c.done:
	case <-r.Context().Done():
		return nil
	}
	output, out, errs := c.log.texts()
	return answer(w, http.StatusOK, map[string]any{
		"cmdId": c.id, "exitCode": c.code, "output": output, "stdout": out, "stderr": errs,
	})
}

func (d *daemon) getCommand(w http.ResponseWriter, r *http.Request) error {
	_, c, err := d.command(r)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, commandBody{c.id, c.text, c.exitCode()})
}

func (d *daemon) commandInput(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Data string `json:"data"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	if err := reserved(r.PathValue("session")); err != nil {
		return err
	}
	_, c, err := d.command(r)
	if err != nil {
		return err
	}
	if err := c.feedInput(in.Data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
