package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// still returns a function that checks the credential of an authenticated caller again, since streams outlive keys. The
// function holds no reference to the request.
func (a *API) still(r *http.Request, sandboxID string, want access) func(context.Context) error {
	l := login{strings.Clone(credentialOf(r)), strings.Clone(sandboxID), want}
	if a.cfg.Open && !token.Looks(l.credential) {
		return func(context.Context) error { return nil }
	}
	return func(ctx context.Context) error {
		_, err := a.logins.ask(ctx, l, a.identifyActive)
		return err
	}
}

// shutsOut reports whether a credential is no longer valid. An unavailable database does not mean that.
func shutsOut(err error) bool {
	switch task.CodeOf(err) {
	case task.CodeUnauthorized, task.CodeForbidden, task.CodeNotFound, task.CodeGone:
		return true
	default:
		return false
	}
}

// recheck ends the stream of a reader whose key was revoked or whose credential has expired. It checks once per
// interval.
func (a *API) recheck(ctx context.Context, f feed, p *pulse) error {
	if time.Since(p.checked) < a.cfg.StreamBeat {
		return nil
	}
	_, err := patiently(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, f.still(ctx) })
	p.checked = time.Now()
	if shutsOut(err) || errors.Is(err, errStopping) {
		return err
	}
	return ctx.Err()
}
