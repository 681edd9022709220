package openhands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Machine is a server that has a shell and files as the real one, and no conversations.
type Machine struct{ URL, Key string }

// NewMachine starts a server on this machine that ends with the test.
func NewMachine(t *testing.T) Machine {
	t.Helper()
	m := Machine{Key: "planted-server-key"}
	mux := http.NewServeMux()
	known(mux)
	mux.HandleFunc("POST /api/bash/execute_bash_command", runBash)
	mux.HandleFunc("POST /api/file/upload", takeFile)
	mux.HandleFunc("GET /api/file/download", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, r.URL.Query().Get("path")) }) //nolint:gosec // as the real server
	checked := described(t, mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/server_info" && r.Header.Get("X-Session-Api-Key") != m.Key {
			answer(w, http.StatusUnauthorized, fields{"detail": "Unauthorized"})
			return
		}
		checked.ServeHTTP(w, r)
	}))
	m.URL = server.URL
	t.Cleanup(server.Close)
	return m
}

// runBash runs a command in a session of its own. As at the real server, the command continues when the client has gone, and its end is that
// of all that hold its output.
func runBash(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Command string `json:"command"`
		Dir     string `json:"cwd"`
		Timeout int    `json:"timeout"`
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		answer(w, http.StatusUnprocessableEntity, fields{"detail": err.Error()})
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Duration(ask.Timeout)*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", ask.Command) //nolint:gosec // as the real server
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = ask.Dir, &out, &errs, &syscall.SysProcAttr{Setsid: true}
	code := 0
	if err := cmd.Run(); err != nil {
		code = -1
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			code = ended.ExitCode()
		}
	}
	answer(w, http.StatusOK, fields{"exit_code": code, "stdout": out.String(), "stderr": errs.String()})
}

// takeFile stores an upload.
func takeFile(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	from, _, err := r.FormFile("file")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // as the real server
	}
	var to *os.File
	if err == nil {
		to, err = os.Create(path) //nolint:gosec // as the real server
	}
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		answer(w, http.StatusBadRequest, fields{"detail": err.Error()})
		return
	}
	answer(w, http.StatusOK, fields{"success": true})
}
