package api

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/webguard"
)

// Tokens verifies sandbox tokens.
type Tokens interface {
	Verify(credential, sandboxID string) error
}

// Identities resolves credentials to callers, and sandboxes to their organizations.
type Identities interface {
	KeyBySecret(ctx context.Context, secret string) (client.APIKey, error)
	// KeyByID returns a valid key, and [task.CodeUnauthorized] if there is none.
	KeyByID(ctx context.Context, id string) (client.APIKey, error)
	// UserOfLogin returns the ID of the user of that name, and creates the user if necessary.
	UserOfLogin(ctx context.Context, organizationID, name string) (id string, err error)
	SandboxOwner(ctx context.Context, id string) (organizationID, taskID string, err error)
	// TokenLives returns [task.CodeGone] if the token of a sandbox is no longer valid.
	TokenLives(ctx context.Context, sandboxID string) error
}

// access is the access level that a route requires.
type access string

const (
	accessNone    access = "none"
	accessSigned  access = "signed" // no login: the route verifies the signature of the body
	accessRead    access = "read"
	accessWrite   access = "write"
	accessAdmin   access = "admin"
	accessSandbox access = "sandbox" // the sandbox itself, or users with the scope write
	accessInbox   access = "inbox"   // like accessSandbox; the route resolves the ID, which may be an agent ID
	accessInspect access = "inspect" // the sandbox itself, or users with the scope read
)

// scopes returns the scopes of API keys. Each one includes the scopes before it.
func scopes() []string { return []string{string(accessRead), string(accessWrite), string(accessAdmin)} }

// caller is the authenticated caller of a request. The organization of a sandbox is looked up where a route needs it.
type caller struct {
	name         string // for receipts and logs
	organization string
	user         string     // ID of the user on whose behalf the caller acts; empty: none
	userName     string     // empty: the organization's owner, or none
	scope        int        // index into scopes; -1: none
	sandbox      string     // ID, if the caller is a sandbox
	until        *time.Time // end of the session; nil: the caller sent a credential
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// guard returns the middleware of a route that requires want.
func (a *API) guard(want access) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		who, err := a.admitWithin(ctx, want)
		if err != nil {
			a.refuse(ctx, err)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, who))
	}
}

func (a *API) admitWithin(ctx huma.Context, want access) (caller, error) {
	limited, cancel := a.limited(ctx.Context())
	defer cancel()
	id := ctx.Param("sandbox_id") // empty: the route has none
	if err := checkSandboxID(id); err != nil {
		return caller{}, err
	}
	who, err := a.admit(humagin.Unwrap(ctx).Request.WithContext(limited), id, want)
	if err == nil && who.sandbox != "" {
		err = a.deps.Identities.TokenLives(limited, who.sandbox)
	}
	return who, err
}

func (a *API) refuse(ctx huma.Context, err error) {
	challenge(humagin.Unwrap(ctx).Writer.Header(), err)
	p := a.fail(ctx.Context(), err, "header")
	for name := range p.GetHeaders() {
		ctx.SetHeader(name, p.GetHeaders().Get(name))
	}
	ctx.SetHeader("Content-Type", problemType)
	ctx.SetStatus(p.Status)
	_ = a.huma.Marshal(ctx.BodyWriter(), "application/json", p) // the caller may have disconnected
}

// challenge sets the header WWW-Authenticate for an error of authentication.
func challenge(h http.Header, err error) {
	if task.CodeOf(err) == task.CodeUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="omoi"`)
	}
}

// admit authenticates and authorizes a request; sandboxID is the sandbox ID in the path, if the route has one.
func (a *API) admit(r *http.Request, sandboxID string, want access) (caller, error) {
	switch want {
	case accessSigned:
		return caller{}, nil
	case accessNone:
		return caller{}, a.noPage(r)
	case accessRead, accessWrite, accessAdmin, accessSandbox, accessInbox, accessInspect:
	}
	credential := credentialOf(r)
	if a.cfg.Open && !token.Looks(credential) {
		return caller{name: "open", organization: a.cfg.Organization, user: a.cfg.User, scope: len(scopes()) - 1}, a.noPage(r)
	}
	return a.identify(r.Context(), login{credential, sandboxID, want})
}

// login is a credential with the access that it is used for.
type login struct {
	credential, sandboxID string
	want                  access
}

func (a *API) identify(ctx context.Context, l login) (caller, error) {
	if token.Looks(l.credential) {
		return a.admitSandbox(l.sandboxID, l.want, l.credential)
	}
	who, err := a.admitPerson(ctx, l.credential)
	if err != nil {
		return caller{}, err
	}
	if err := enough(who, l.want); err != nil {
		return caller{}, err
	}
	if l.want == accessSandbox || l.want == accessInspect {
		return who, a.ownsSandbox(ctx, who, l.sandboxID)
	}
	return who, nil
}

// identifyActive is identify for infrequent routes: it also checks in the database that a sandbox token is active.
func (a *API) identifyActive(ctx context.Context, l login) (caller, error) {
	who, err := a.identify(ctx, l)
	if err == nil && who.sandbox != "" {
		err = a.deps.Identities.TokenLives(ctx, who.sandbox)
	}
	return who, err
}

// admitSandbox authorizes a sandbox for its own routes without a database query: the event routes are hot, and ingest
// checks the sandbox anyway. For the other routes, see guard.
func (a *API) admitSandbox(id string, want access, credential string) (caller, error) {
	if want != accessSandbox && want != accessInbox && want != accessInspect {
		return caller{}, task.Errorf(task.CodeForbidden, "A sandbox token gives access to the routes of its own sandbox only.").WithKind(task.KindOtherSandbox)
	}
	if err := a.deps.Tokens.Verify(credential, id); err != nil {
		return caller{}, err
	}
	return caller{name: "sandbox " + id, sandbox: id, scope: -1}, nil
}

func (a *API) admitPerson(ctx context.Context, credential string) (caller, error) {
	if credential == "" {
		return caller{}, task.Errorf(task.CodeUnauthorized,
			"Missing credential: this server requires an API key. Next: send it as Authorization: Bearer, or set OMOI_API_KEY for "+
				"the omoi command")
	}
	if token.LooksSigned(credential) {
		return a.admitLogin(ctx, credential)
	}
	if token.LooksSession(credential) {
		return a.admitSession(ctx, credential)
	}
	key, err := a.deps.Identities.KeyBySecret(ctx, credential)
	if err != nil {
		return caller{}, err
	}
	return callerWith(key), nil
}

func scopeOf(given []string) int {
	for n := len(scopes()) - 1; n >= 0; n-- {
		if slices.Contains(given, scopes()[n]) {
			return n
		}
	}
	return -1
}

func enough(who caller, want access) error {
	switch want {
	case accessSandbox, accessInbox:
		want = accessWrite
	case accessInspect:
		want = accessRead
	case accessNone, accessSigned, accessRead, accessWrite, accessAdmin:
	}
	if need := slices.Index(scopes(), string(want)); who.scope < need {
		return task.Errorf(task.CodeForbidden, "The credential lacks the scope %s. Next: use an API key with this scope", want).WithKind(task.KindScope)
	}
	return nil
}

// ownsSandbox returns [task.CodeNotFound] for sandboxes of other organizations, so that IDs cannot be guessed.
func (a *API) ownsSandbox(ctx context.Context, who caller, id string) error {
	owner, _, err := a.deps.Identities.SandboxOwner(ctx, id)
	if err == nil && owner != who.organization {
		return task.Errorf(task.CodeNotFound, "There is no sandbox %s.", id)
	}
	return err
}

// organizationOf returns the organization on whose behalf a caller uses a sandbox's routes.
func (a *API) organizationOf(ctx context.Context, who caller) (string, error) {
	if who.sandbox == "" {
		return who.organization, nil
	}
	owner, _, err := a.deps.Identities.SandboxOwner(ctx, who.sandbox)
	return owner, err
}

func credentialOf(r *http.Request) string {
	if prefixed := prefixToken(r.Context()); prefixed != "" {
		return prefixed
	}
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	scheme, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(credential)
	}
	return sessionSecret(r)
}

// noPage rejects requests that a web page could make a browser send to a server without authentication. No web page
// reaches the server's Unix socket.
func (a *API) noPage(r *http.Request) error {
	if !a.cfg.Open || bySocket(r) {
		return nil
	}
	return webguard.Check(r, a.cfg.AllowedHosts)
}

// isLoopback reports whether a listener address is reachable from this host only.
func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback() // only this host reaches a Unix socket
}

var _ http.Handler = (*API)(nil)

// Logins verifies JWTs of users and programs.
type Logins interface {
	Verify(credential string) (token.Login, error)
}

// admitLogin authenticates the holder of a JWT. A JWT without a scope claim gets the default scope of API keys, write.
// A JWT with an empty scope claim gets no access.
func (a *API) admitLogin(ctx context.Context, credential string) (caller, error) {
	if a.deps.Logins == nil {
		return caller{}, task.Errorf(task.CodeUnauthorized,
			"JWT rejected: the server has no api.jwt_secret. Next: send an API key, or set OMOI_API_JWT_SECRET on the server")
	}
	said, err := a.deps.Logins.Verify(credential)
	if err != nil {
		return caller{}, err
	}
	organization := cmp.Or(said.OrganizationID, a.cfg.Organization)
	if !isID(organization) {
		return caller{}, task.Errorf(task.CodeUnauthorized, "Invalid JWT: the claim org must be the ID of an organization.")
	}
	user, err := a.deps.Identities.UserOfLogin(ctx, organization, said.User)
	who := caller{
		name: "user " + said.User, organization: organization, user: user, userName: said.User,
		scope: scopeOf(scopesOf(said)),
	}
	return who, err
}

func scopesOf(said token.Login) []string {
	if said.Scopes == nil {
		return []string{string(accessWrite)}
	}
	return said.Scopes
}
