package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi" //nolint:gosec // G504: of Go versions long gone
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

type object = map[string]any

// handler answers a call on a repository.
type handler func(w http.ResponseWriter, r *http.Request, on *repo)

func (s *Server) routes() {
	const base = "/api/v3/repos/{owner}/{repo}"
	for pattern, answer := range map[string]handler{
		"GET " + base:                                 s.getRepo,
		"GET " + base + "/branches":                   s.listBranches,
		"GET " + base + "/git/ref/{ref...}":           s.getRef,
		"GET " + base + "/git/matching-refs/{ref...}": s.matchingRefs,
		"POST " + base + "/git/refs":                  s.createRef,
		"PATCH " + base + "/git/refs/{ref...}":        s.moveRef,
		"DELETE " + base + "/git/refs/{ref...}":       s.deleteRef,
		"GET " + base + "/compare/{range}":            s.compare,
		"GET " + base + "/pulls":                      s.listPulls,
		"POST " + base + "/pulls":                     s.createPull,
		"GET " + base + "/pulls/{number}":             s.getPull,
		"PATCH " + base + "/pulls/{number}":           s.changePull,
		"PUT " + base + "/pulls/{number}/merge":       s.mergePull,
	} {
		s.mux.HandleFunc(pattern, s.guarded(answer))
	}
	s.mux.HandleFunc("/{owner}/{repo}/{rest...}", s.git)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "Not Found") })
}

// guarded lets in who may read, and to changes who may push.
func (s *Server) guarded(answer handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		on, push, err := s.enter(r, r.PathValue("owner"), r.PathValue("repo"))
		switch {
		case errors.Is(err, errLogin):
			refuse(w, http.StatusUnauthorized, err.Error())
		case err != nil:
			refuse(w, http.StatusNotFound, err.Error())
		case r.Method != http.MethodGet && !push:
			refuse(w, http.StatusForbidden, "Resource not accessible by personal access token")
		case r.Method != http.MethodGet && !s.mayPull(r):
			refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		default:
			answer(w, r, on)
		}
	}
}

// mayPull reports whether a call that changes a pull request has the permission for that; other calls need none of it.
func (s *Server) mayPull(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	may, ofApp := s.mays[tokenOf(r)]
	return !ofApp || !strings.Contains(r.URL.Path, "/pulls") || may["pull_requests"] == "write"
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // a caller that left is nobody's fault
}

func refuse(w http.ResponseWriter, status int, message string, details ...string) {
	body := object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)}
	if len(details) > 0 {
		var all []object
		for _, d := range details {
			all = append(all, object{"resource": "PullRequest", "code": "custom", "message": d})
		}
		body["errors"] = all
	}
	reply(w, status, body)
}

// page cuts a list to the page that is asked for and names the next one in the header Link.
func page[T any](w http.ResponseWriter, r *http.Request, all []T) []T {
	query := r.URL.Query()
	size, number := atoi(query, "per_page", 30), atoi(query, "page", 1) //nolint:mnd // GitHub's default
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		query.Set("page", strconv.Itoa(number+1))
		next := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawQuery: query.Encode()}
		w.Header().Set("Link", fmt.Sprintf("<%s>; rel=\"next\"", next.String()))
	}
	return all[from:to]
}

func atoi(query url.Values, name string, fallback int) int {
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < 1 {
		return fallback
	}
	return n
}

// git serves clones and pushes by git's own program.
func (s *Server) git(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutSuffix(r.PathValue("repo"), ".git")
	on, push, err := s.enter(r, r.PathValue("owner"), name)
	service := r.URL.Query().Get("service") + r.PathValue("rest")
	switch {
	case !ok:
		http.NotFound(w, r)
	case errors.Is(err, errLogin):
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Invalid username or token.", http.StatusUnauthorized)
	case err != nil:
		http.Error(w, "Repository not found.", http.StatusNotFound)
	case strings.Contains(service, "receive-pack") && (!push || on.archived):
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
	default:
		r.URL.Path = "/" + on.full() + ".git/" + r.PathValue("rest") // folders have but one case
		s.backend(w, r)
	}
}

// backendPath is the path of the program that git has for HTTP servers.
var backendPath = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // each request needs it
	dir, err := exec.CommandContext(context.Background(), "git", "--exec-path").Output()
	return filepath.Join(strings.TrimSpace(string(dir)), "git-http-backend"), err
})

func (s *Server) backend(w http.ResponseWriter, r *http.Request) {
	path, err := backendPath()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	done, err := s.whole(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	defer done()
	h := cgi.Handler{
		Path: path,
		Env: append(gitEnv(), "GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x-access-token",
			"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
			"GIT_CONFIG_KEY_1=uploadpack.allowFilter", "GIT_CONFIG_VALUE_1=true", // GitHub gives parts of a repository,
			"GIT_CONFIG_KEY_2=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_2=true"), // and commits by their ids
	}
	h.ServeHTTP(w, r)
}
