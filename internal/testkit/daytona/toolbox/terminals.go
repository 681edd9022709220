package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

type terminalBody struct {
	ID        string            `json:"id"`
	Cwd       string            `json:"cwd"`
	Envs      map[string]string `json:"envs"`
	Cols      int               `json:"cols"`
	Rows      int               `json:"rows"`
	CreatedAt string            `json:"createdAt"`
	Active    bool              `json:"active"`
	LazyStart bool              `json:"lazyStart"`
}

func (t *terminal) body() terminalBody {
	t.mu.Lock()
	defer t.mu.Unlock()
	return terminalBody{
		ID: t.id, Cwd: t.cwd, Envs: t.env, Cols: int(t.size.Columns), Rows: int(t.size.Rows),
		CreatedAt: t.since.UTC().Format(time.RFC3339Nano), Active: true,
	}
}

func (d *daemon) terminal(r *http.Request) (*terminal, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.ptys[r.PathValue("pty")]; t != nil {
		return t, nil
	}
	return nil, &fault{http.StatusNotFound, "NOT_FOUND", "PTY session not found"}
}

func (d *daemon) listTerminals(w http.ResponseWriter, _ *http.Request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []terminalBody{}
	for _, t := range d.ptys {
		if t != nil {
			all = append(all, t.body())
		}
	}
	return answer(w, http.StatusOK, map[string]any{"sessions": all})
}

func (d *daemon) getTerminal(w http.ResponseWriter, r *http.Request) error {
	t, err := d.terminal(r)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, t.body())
}

const maxSize = 1000

func (d *daemon) createTerminal(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ID   string            `json:"id"`
		Cwd  string            `json:"cwd"`
		Envs map[string]string `json:"envs"`
		Cols uint16            `json:"cols"`
		Rows uint16            `json:"rows"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	switch {
	case in.ID == "":
		return badRequest("session ID is required")
	case in.Cols > maxSize || in.Rows > maxSize:
		return badRequest("invalid size: must be less than 1000")
	}
	env := map[string]string{"TERM": "xterm-256color"}
	maps.Copy(env, in.Envs)
	if err := d.claimTerminal(in.ID); err != nil {
		return err
	}
	t, err := d.openTerminal(in.ID, cmp.Or(in.Cwd, d.cfg.Home), env,
		sandbox.Size{Rows: cmp.Or(in.Rows, 24), Columns: cmp.Or(in.Cols, 80)})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		delete(d.ptys, in.ID)
		return &fault{http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", "failed to start PTY session: " + err.Error()}
	}
	if !ended(t.ended) {
		d.ptys[in.ID] = t
	}
	return answer(w, http.StatusCreated, map[string]string{"sessionId": in.ID})
}

// claimTerminal takes a name before its shell is there.
func (d *daemon) claimTerminal(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, there := d.ptys[id]; there {
		return &fault{http.StatusConflict, "CONFLICT", "PTY session with ID '" + id + "' already exists"}
	}
	d.ptys[id] = nil
	return nil
}

func (d *daemon) deleteTerminal(w http.ResponseWriter, r *http.Request) error {
	t, err := d.terminal(r)
	if err != nil {
		return err
	}
	t.end(r.Context())
	return answer(w, http.StatusOK, map[string]string{"message": "PTY session deleted"})
}

func (d *daemon) resizeTerminal(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Cols uint16 `json:"cols"`
		Rows uint16 `json:"rows"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	if in.Cols < 1 || in.Rows < 1 || in.Cols > maxSize || in.Rows > maxSize {
		return badRequest("cols and rows must be from 1 to 1000")
	}
	t, err := d.terminal(r)
	if err != nil {
		return &fault{http.StatusGone, "GONE", "PTY session not found"}
	}
	if err := t.resize(sandbox.Size{Rows: in.Rows, Columns: in.Cols}); err != nil {
		return &fault{http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", err.Error()}
	}
	return answer(w, http.StatusOK, t.body())
}

// connectTerminal carries between a stream and the terminal. It upgrades first, and says in the stream what is wrong.
func (d *daemon) connectTerminal(w http.ResponseWriter, r *http.Request) error {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // who may come was asked before
	if err != nil {
		return nil // it has answered
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order before, or broken
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	t, err := d.terminal(r)
	if err != nil {
		_ = tell(ctx, conn,
			map[string]string{"type": "control", "status": "error", "error": "Failed to connect to PTY session: " + err.Error()})
		return nil
	}
	said := t.connect()
	defer t.disconnect(said)
	if tell(ctx, conn, map[string]string{"type": "control", "status": "connected"}) == nil {
		go t.keys(ctx, cancel, conn)
		t.show(ctx, conn, said)
	}
	return nil
}

// keys takes keys until the person is gone.
func (t *terminal) keys(ctx context.Context, gone func(), conn *websocket.Conn) {
	defer gone()
	for {
		_, keys, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if _, err := t.ours.Write(keys); err != nil && !ended(t.ended) {
			return
		}
	}
}

// show hands on what the shell says, and its exit code at the end.
func (t *terminal) show(ctx context.Context, conn *websocket.Conn, said chan []byte) {
	for {
		select {
		case text, more := <-said:
			if !more {
				_ = conn.Close(websocket.StatusPolicyViolation, "slow consumer")
				return
			}
			if conn.Write(ctx, websocket.MessageBinary, text) != nil {
				return
			}
			continue
		case <-ctx.Done():
			return
		case <-t.ended:
		}
		if len(said) == 0 {
			closeWith(conn, t.code)
			return
		}
	}
}

// closeWith says an exit code as Daytona does: in the reason of the close.
func closeWith(conn *websocket.Conn, code int) {
	if code == 0 {
		_ = conn.Close(websocket.StatusNormalClosure, `{"exitCode":0}`)
		return
	}
	_ = conn.Close(websocket.StatusInternalError, fmt.Sprintf(`{"exitCode":%d,"exitReason":"non-zero exit"}`, code))
}

func tell(ctx context.Context, conn *websocket.Conn, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, text)
}
