package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/task"
)

// helper is a credential helper that reads the password from descriptor 3. settings configure it for the repository's
// server only, so that a redirect does not send the token to another server.
const helper = `!f() { test "$1" = get || exit 0; IFS= read -r secret <&3 || exit 0; printf 'username=x-access-token\npassword=%s\n' "$secret"; }; f`

// settings returns the options of every git command that contacts the server.
func (r *repository) settings() []string {
	web := r.host.web.Scheme + "://" + r.host.web.Host
	return gitproc.Options(
		"core.hooksPath=/dev/null",
		"protocol.allow=never",
		"protocol."+r.host.web.Scheme+".allow=always",
		"credential."+web+".helper="+helper,
		"gc.auto=0",
		"maintenance.auto=false",
		"fetch.fsckObjects=false", // the server decides on history that is already in its repository
		"fetch.recurseSubmodules=false",
		"http.lowSpeedLimit=1000",
		"http.lowSpeedTime=60",
	)
}

// environment returns the environment of git: the base environment, and the proxy and certificate settings of omoi.
func environment() []string {
	env := gitproc.Environ()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "GIT_SSL_CAINFO"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// git runs git in the copy and returns its standard output, trimmed.
func (c *clone) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append(append(c.repo.settings(), "--git-dir="+c.dir), args...)...) //nolint:gosec // G204: refs are checked, the address is the configured one
	var out strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout = "/", environment(), &out
	if err := withSecret(ctx, cmd, args[0], c.repo.token); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// withSecret runs cmd, which reads the secret from descriptor 3 as often as it needs.
func withSecret(ctx context.Context, cmd *exec.Cmd, verb, secret string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return &gitproc.Error{Verb: verb, Err: fmt.Errorf("make a pipe for git: %w", err)}
	}
	cmd.ExtraFiles = []*os.File{read}
	said := make(chan struct{})
	go func() {
		defer close(said)
		for err == nil {
			_, err = io.WriteString(write, secret+"\n")
		}
	}()
	failed := gitproc.Run(ctx, cmd, verb)
	_ = read.Close() // the next write of the goroutine fails
	_ = write.SetWriteDeadline(time.Unix(1, 0))
	<-said
	_ = write.Close()
	return failed
}

// toldGit converts an error of git to a [task.Error]. An error that is not of git is returned unchanged.
func (r *repository) toldGit(ctx context.Context, err error, doing string) error {
	e, ok := errors.AsType[*gitproc.Error](err)
	switch {
	case !ok:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s in %s: %w", doing, r.full(), ctx.Err())
	}
	said := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e.Stderr, w) })
	}
	switch {
	case said("not our ref"): // the bundle names commits that the server does not have
		return task.Errorf(task.CodeInvalid, "The bundle from the sandbox builds on commits that %s does not have.", r.full()).WithCause(err)
	case said("Authentication failed", "could not read Username", "could not read Password", "returned error: 401"):
		return r.refused(err)
	case said("GH001", "GH008", "protected branch", "GH006", "GH013", "hook declined", "rule violations"):
		return r.ruled(remark(e.Stderr), err)
	case said("non-fast-forward", "fetch first", "stale info", "but expected", "reference already exists", "incorrect old value"):
		return errDiverged
	case said("returned error: 429"):
		limit := task.Errorf(task.CodeExhausted, "GitHub's rate limit is reached.").WithCause(err)
		limit.After = secondaryPause
		return limit
	case said("returned error: 403"):
		return task.Errorf(task.CodeForbidden, "GitHub rejected the token's request to %s in %s. Next: give the token read and write access to contents, then retry", doing, r.full()).WithCause(err)
	case said("returned error: 404", "not found"):
		return r.absent(err)
	}
	if status := forGood.FindStringSubmatch(e.Stderr); status != nil {
		return task.Errorf(task.CodeInvalid, "Git could not %s in %s: the server, or a proxy in front of it, rejected the request with HTTP %s. Next: check its limits, for example the maximum body size, then retry",
			doing, r.full(), status[1]).WithCause(err)
	}
	return task.Errorf(task.CodeUnavailable, "Git could not %s in %s: the server failed or did not answer.", doing, r.full()).WithCause(err)
}

// forGood matches the HTTP statuses of requests for which a retry is useless.
var forGood = regexp.MustCompile(`returned error: (4(?:00|05|1[134]|22))`)

// errDiverged reports a branch that another user has moved.
var errDiverged = errors.New("the branch has diverged")

// remark returns the "remote:" lines of git's output, at most maxRemark bytes.
func remark(stderr string) string {
	var words []string
	for line := range strings.Lines(stderr) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "remote:"); ok && strings.TrimSpace(said) != "" {
			words = append(words, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(said), "error: "), ".")+".")
		}
	}
	text := strings.Join(words, " ")
	return text[:min(len(text), maxRemark)]
}

const maxRemark = 300
