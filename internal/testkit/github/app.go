package github

import (
	"cmp"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// app is a GitHub App.
type app struct {
	id   int64
	key  *rsa.PublicKey
	life time.Duration // of its tokens
}

// install is an installation of an App, for one owner.
type install struct {
	id        int64
	app       int64
	owner     string
	repos     map[string]bool
	suspended bool
	may       map[string]string // permissions
	tokens    []string
}

// AddApp makes a GitHub App whose tokens live as long as GitHub's, an hour, unless life says otherwise.
func (s *Server) AddApp(id int64, key *rsa.PublicKey, life time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[id] = &app{id: id, key: key, life: cmp.Or(life, time.Hour)}
}

// Install installs an App on repositories of one owner and answers the installation's id. Without permissions it may
// write contents and pull requests.
func (s *Server) Install(appID int64, may map[string]string, repos ...string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, _, _ := strings.Cut(repos[0], "/")
	in := &install{id: int64(len(s.installs) + 1), app: appID, owner: owner, repos: map[string]bool{}, may: may}
	if may == nil {
		in.may = map[string]string{"contents": "write", "pull_requests": "write", "metadata": "read"}
	}
	for _, full := range repos {
		in.repos[full] = true
	}
	s.installs = append(s.installs, in)
	return in.id
}

// Suspend suspends an installation, or lets it work again. Its tokens end either way.
func (s *Server) Suspend(id int64, suspended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.installs[id-1]
	in.suspended = suspended
	for _, token := range in.tokens {
		delete(s.tokens, token)
	}
}

// Uninstall takes an App away from a repository.
func (s *Server) Uninstall(id int64, repo string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.installs[id-1]
	delete(in.repos, repo)
	for _, token := range in.tokens {
		delete(s.tokens[token], repo)
	}
}

// AppTokens are the tokens that were given out so far.
func (s *Server) AppTokens() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, in := range s.installs {
		all = append(all, in.tokens...)
	}
	return all
}

func (s *Server) appRoutes() {
	s.mux.HandleFunc("GET /api/v3/app", s.asApp(s.getApp))
	s.mux.HandleFunc("GET /api/v3/app/installations", s.asApp(s.listInstalls))
	s.mux.HandleFunc("GET /api/v3/repos/{owner}/{repo}/installation", s.asApp(s.getInstall))
	s.mux.HandleFunc("POST /api/v3/app/installations/{id}/access_tokens", s.asApp(s.makeToken))
}

// asApp lets in whoever shows a JWT that is signed with the key of the App that it names.
func (s *Server) asApp(answer func(http.ResponseWriter, *http.Request, *app)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		who, err := s.appOf(tokenOf(r))
		switch {
		case errors.Is(err, errNoApp):
			refuse(w, http.StatusNotFound, err.Error())
		case err != nil:
			refuse(w, http.StatusUnauthorized, err.Error())
		default:
			answer(w, r, who)
		}
	}
}

var (
	errNoApp = errors.New("Integration not found")                                    //nolint:staticcheck // GitHub's own words
	errNoJWT = errors.New("A JSON web token could not be decoded")                    //nolint:staticcheck // likewise
	errLong  = errors.New("'Expiration time' claim ('exp') is too far in the future") //nolint:staticcheck // likewise
)

// appOf checks a JWT as GitHub does: RS256, the App as its issuer, and ten minutes at most.
func (s *Server) appOf(shown string) (*app, error) {
	var claims jwt.RegisteredClaims
	var named *app
	_, err := jwt.ParseWithClaims(shown, &claims, func(*jwt.Token) (any, error) {
		id, err := strconv.ParseInt(claims.Issuer, 10, 64)
		if named = s.apps[id]; err != nil || named == nil {
			return nil, errNoApp
		}
		return named.key, nil
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuedAt(), jwt.WithExpirationRequired())
	switch {
	case errors.Is(err, errNoApp):
		return nil, errNoApp
	case err != nil:
		return nil, errNoJWT
	case time.Until(claims.ExpiresAt.Time) > 10*time.Minute: //nolint:mnd // as documented
		return nil, errLong
	}
	return named, nil
}

func (s *Server) getApp(w http.ResponseWriter, _ *http.Request, who *app) {
	reply(w, http.StatusOK, object{
		"id": who.id, "slug": "omoi-test", "name": "omoi test", "html_url": s.URL + "/github-apps/omoi-test",
		"owner": object{"login": "acme", "id": 1, "type": "Organization"},
	})
}

func (s *Server) installOf(in *install) object {
	body := object{
		"id": in.id, "app_id": in.app, "target_type": "Organization", "repository_selection": "selected",
		"permissions": in.may, "suspended_at": nil,
		"account":  object{"login": in.owner, "id": 1, "type": "Organization"},
		"html_url": fmt.Sprintf("%s/organizations/%s/settings/installations/%d", s.URL, in.owner, in.id),
	}
	if in.suspended {
		body["suspended_at"] = "2026-01-02T03:04:05Z"
	}
	return body
}

func (s *Server) listInstalls(w http.ResponseWriter, r *http.Request, who *app) {
	all := []object{}
	for _, in := range s.installs {
		if in.app == who.id {
			all = append(all, s.installOf(in))
		}
	}
	reply(w, http.StatusOK, page(w, r, all))
}

func (s *Server) getInstall(w http.ResponseWriter, r *http.Request, who *app) {
	full := r.PathValue("owner") + "/" + r.PathValue("repo")
	at := slices.IndexFunc(s.installs, func(in *install) bool { return in.app == who.id && in.repos[full] })
	if at < 0 {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, s.installOf(s.installs[at]))
}

func (s *Server) makeToken(w http.ResponseWriter, r *http.Request, who *app) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 1 || id > len(s.installs) || s.installs[id-1].app != who.id {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	in := s.installs[id-1]
	if in.suspended {
		refuse(w, http.StatusForbidden, "This installation has been suspended")
		return
	}
	repos, may, err := asked(r, in)
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	token := fmt.Sprintf("ghs_%dtheTokenOfAnInstallation%08d", id, len(in.tokens)+1)
	in.tokens = append(in.tokens, token)
	ends := time.Now().Add(who.life).UTC().Truncate(time.Second)
	s.tokens[token], s.ends[token], s.mays[token] = map[string]string{}, ends, may
	for _, full := range repos {
		s.tokens[token][full] = grantOf(may)
	}
	reply(w, http.StatusCreated,
		object{"token": token, "expires_at": ends, "permissions": may, "repository_selection": "selected"})
}

// asked are the repositories and permissions that a token is asked for: all that the installation has, unless fewer are
// named.
func asked(r *http.Request, in *install) (repos []string, may map[string]string, err error) {
	var body struct {
		Repositories []string          `json:"repositories"`
		Permissions  map[string]string `json:"permissions"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, errBody
	}
	for full := range in.repos {
		if _, name, _ := strings.Cut(full, "/"); len(body.Repositories) == 0 || slices.ContainsFunc(body.Repositories, func(s string) bool { return strings.EqualFold(s, name) }) {
			repos = append(repos, full)
		}
	}
	if len(repos) < len(body.Repositories) {
		return nil, nil, errNotThere
	}
	for what, level := range body.Permissions {
		if has := in.may[what]; has != level && has != "write" {
			return nil, nil, errNotGranted
		}
	}
	if len(body.Permissions) == 0 {
		body.Permissions = in.may
	}
	return repos, body.Permissions, nil
}

var (
	errBody       = errors.New("Problems parsing JSON")                                                                                 //nolint:staticcheck // GitHub's own words
	errNotThere   = errors.New("There is at least one repository that does not exist or is not accessible to the parent installation.") //nolint:staticcheck,revive // likewise
	errNotGranted = errors.New("The permissions requested are not granted to this installation.")                                       //nolint:staticcheck,revive // likewise
)

// TokenOf is what a token opens and what it may do there.
func (s *Server) TokenOf(token string) (repos []string, may map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.tokens[token])), s.mays[token]
}

// grantOf is what permissions are worth to git and the API.
func grantOf(may map[string]string) string {
	if may["contents"] == "write" {
		return "push"
	}
	return "pull"
}
