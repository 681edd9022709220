package toolbox

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// daemon is the toolbox of one sandbox.
type daemon struct {
	cfg  Config
	tree *tree

	mu       sync.Mutex
	env      map[string]string
	sessions map[string]*session
	ptys     map[string]*terminal
}

func newDaemon(cfg Config) *daemon {
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = map[string]string{}
	}
	return &daemon{
		cfg: cfg, env: env, tree: &tree{own: map[int]bool{}}, sessions: map[string]*session{}, ptys: map[string]*terminal{},
	}
}

func (d *daemon) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"GET /version": func(w http.ResponseWriter, _ *http.Request) error {
			return answer(w, 200, map[string]string{"version": d.cfg.Version})
		},
		"GET /work-dir":      d.homeDir,
		"GET /user-home-dir": d.homeDir,
		"POST /env":          d.setEnv,

		"POST /process/execute":                                   d.execute,
		"GET /process/session":                                    d.listSessions,
		"POST /process/session":                                   d.createSession,
		"GET /process/session/{session}":                          d.getSession,
		"DELETE /process/session/{session}":                       d.deleteSession,
		"POST /process/session/{session}/exec":                    d.sessionExec,
		"GET /process/session/{session}/command/{command}":        d.getCommand,
		"GET /process/session/{session}/command/{command}/logs":   d.commandLogs,
		"POST /process/session/{session}/command/{command}/input": d.commandInput,
		"GET /process/session/entrypoint/logs":                    d.entrypointLogs,
		"GET /process/pty":                                        d.listTerminals,
		"POST /process/pty":                                       d.createTerminal,
		"GET /process/pty/{pty}":                                  d.getTerminal,
		"DELETE /process/pty/{pty}":                               d.deleteTerminal,
		"GET /process/pty/{pty}/connect":                          d.connectTerminal,
		"POST /process/pty/{pty}/resize":                          d.resizeTerminal,
		"POST /files/bulk-upload":                                 d.bulkUpload,
		"POST /files/upload":                                      d.upload,
		"POST /files/upload-v2":                                   d.upload,
		"GET /files/download":                                     d.download,
		"POST /files/bulk-download":                               d.bulkDownload,
		"GET /files":                                              d.listFiles,
		"DELETE /files":                                           d.deleteFile,
		"GET /files/info":                                         d.fileInfo,
		"POST /files/folder":                                      d.makeFolder,
		"POST /files/move":                                        d.move,
		"POST /files/permissions":                                 d.permissions,
		"/":                                                       func(http.ResponseWriter, *http.Request) error { return errNoRoute },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := handle(w, r); err != nil {
				fail(w, r, err)
			}
		})
	}
	return mux
}

func (d *daemon) homeDir(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, map[string]string{"dir": d.cfg.Home})
}

// setEnv changes what processes started later inherit.
func (d *daemon) setEnv(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Set              map[string]string `json:"set"`
		Unset            []string          `json:"unset"`
		UnsetValuePrefix string            `json:"unsetValuePrefix"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.env, func(key, value string) bool {
		_, kept := in.Set[key]
		return slices.Contains(in.Unset, key) || in.UnsetValuePrefix != "" && !kept && strings.HasPrefix(value, in.UnsetValuePrefix)
	})
	maps.Copy(d.env, in.Set)
	return answer(w, http.StatusOK, map[string]string{})
}

// environment is what a process gets.
func (d *daemon) environment(more map[string]string) []string {
	d.mu.Lock()
	all := maps.Clone(d.env)
	d.mu.Unlock()
	maps.Copy(all, more)
	out := make([]string, 0, len(all))
	for key, value := range all {
		out = append(out, key+"="+value)
	}
	return out
}

// shell is the program that commands are fed to.
func (d *daemon) shell() string {
	for _, name := range []string{"zsh", "bash", "sh"} {
		for _, dir := range filepath.SplitList(d.cfg.Env["PATH"]) {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path
			}
		}
	}
	return "/bin/sh"
}

// fault is an error with what the daemon says of it.
type fault struct {
	status  int
	code    string
	message string
}

func (f *fault) Error() string { return f.message }

var errNoRoute = &fault{http.StatusNotFound, "NOT_FOUND", "the emulator's toolbox does not have this call"}

func badRequest(message string) error { return &fault{http.StatusBadRequest, "BAD_REQUEST", message} }

// asFault gives an error of the system its status.
func asFault(err error) *fault {
	var known *fault
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return &fault{http.StatusNotFound, "FILE_NOT_FOUND", err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return &fault{http.StatusForbidden, "FILE_ACCESS_DENIED", err.Error()}
	default:
		return &fault{http.StatusBadRequest, "BAD_REQUEST", err.Error()}
	}
}

type errorBody struct {
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Code       string `json:"code"`
	Timestamp  string `json:"timestamp"`
	Path       string `json:"path"`
	Method     string `json:"method"`
	Source     string `json:"source"`
}

func describe(r *http.Request, err error) errorBody {
	f := asFault(err)
	return errorBody{
		f.status, f.message, f.code, time.Now().UTC().Format(time.RFC3339Nano), r.URL.Path, r.Method, "DAYTONA_DAEMON",
	}
}

func fail(w http.ResponseWriter, r *http.Request, err error) {
	body := describe(r, err)
	_ = answer(w, body.StatusCode, body)
}

func answer(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that is gone does not matter
	return nil
}

func read(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return &fault{http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid request body: " + err.Error()}
	}
	return nil
}

// at is a path of a caller; a relative one begins at the work folder.
func (d *daemon) at(path string) (string, error) {
	switch {
	case path == "":
		return "", badRequest("path is required")
	case filepath.IsAbs(path):
		return path, nil
	default:
		return filepath.Join(d.cfg.Home, path), nil
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
