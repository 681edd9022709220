package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v66/github"

	"github.com/omoi-dev/omoi/internal/task"
)

// secondaryPause is what GitHub asks for at least where a secondary limit names no time.
const secondaryPause = time.Minute

// statusOf is the status of GitHub's answer, 0 if there was none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*gh.ErrorResponse](err); ok && e.Response != nil {
		return e.Response.StatusCode
	}
	return 0
}

// says is GitHub's own sentence about what was refused, with its reasons.
func says(err error) string {
	e, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok {
		return ""
	}
	words := []string{strings.TrimSuffix(e.Message, ".")}
	for _, detail := range e.Errors {
		if detail.Message != "" {
			words = append(words, strings.TrimSuffix(detail.Message, "."))
		}
	}
	return strings.Join(words, ": ")
}

// told makes of an error of the REST API what people and retries need; doing is what was tried.
func (r *repository) told(err error, doing string) error {
	if err == nil {
		return nil
	}
	if limit := limited(err); limit != nil {
		return limit
	}
	at := fmt.Sprintf("%s in %s", doing, r.full())
	switch status := statusOf(err); {
	case status == http.StatusUnauthorized:
		return r.refused(err)
	case status == http.StatusForbidden:
		return task.Errorf(task.CodeForbidden, "GitHub does not let the token %s: %s. Next: give it contents and pull requests to read and write, then retry", at, says(err)).WithCause(err)
	case status == http.StatusNotFound:
		return r.absent(err)
	case status == http.StatusConflict:
		return task.Errorf(task.CodeConflict, "GitHub could not %s: %s.", at, says(err)).WithCause(errors.Join(errRejected, err))
	case status == http.StatusUnprocessableEntity && strings.Contains(says(err), "already exists"): // and it is not shown yet
		return task.Errorf(task.CodeUnavailable, "GitHub does not yet show the created object after %s: %s.", at, says(err)).WithCause(err)
	case status == http.StatusUnprocessableEntity:
		return task.Errorf(task.CodeInvalid, "GitHub did not %s: %s.", at, says(err)).WithCause(err)
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return task.Errorf(task.CodeInvalid, "GitHub did not %s: it answered %d %s.", at, status, says(err)).WithCause(err)
	case errors.Is(err, context.Canceled): // a deadline may be that of one request: GitHub hangs
		return fmt.Errorf("%s: %w", at, err)
	}
	return task.Errorf(task.CodeUnavailable, "GitHub failed to %s.", at).WithCause(err)
}

// absent is of a repository that is not there, or hidden: GitHub does not say which.
func (r *repository) absent(cause error) error {
	return task.Invalid("repo", "Repository %s not found on %s, or the token has no access to it. Next: check %s and the permissions of the token",
		r.full(), r.host.web.Host, r.page("")).WithCause(cause)
}

// limited is [task.CodeExhausted] with the time at which to ask again, nil for other errors.
func limited(err error) error {
	after, ok := pauseOf(err)
	if !ok {
		return nil
	}
	e := task.Errorf(task.CodeExhausted, "GitHub's rate limit is reached; it accepts requests again at %s.", time.Now().Add(after).UTC().Format("15:04:05 UTC")).WithCause(err)
	e.After = after
	return e
}

// pauseOf is how long GitHub wants to be left alone.
func pauseOf(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[*gh.RateLimitError](err); ok {
		return max(time.Until(e.Rate.Reset.Time), time.Second), true
	}
	if e, ok := errors.AsType[*gh.AbuseRateLimitError](err); ok {
		return max(cmp.Or(e.GetRetryAfter(), secondaryPause), time.Second), true
	}
	e, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok || e.Response == nil || (e.Response.StatusCode != http.StatusTooManyRequests && e.Response.StatusCode != http.StatusForbidden) {
		return 0, false
	}
	seconds, err := strconv.Atoi(e.Response.Header.Get("Retry-After"))
	if err != nil && e.Response.StatusCode == http.StatusForbidden {
		return 0, false
	}
	return cmp.Or(time.Duration(seconds)*time.Second, secondaryPause), true
}

// errRejected is of a conflict for which the server gave its own reason.
var errRejected = errors.New("rejected by GitHub")

// ruled is of commits that the repository's rules do not let in, with the server's own words.
func (r *repository) ruled(words string, cause error) error {
	next := "allow omoi's branches in the rules at " + r.page("settings/rules") + ", then retry"
	switch {
	case strings.Contains(words, "GH001"):
		next = "have the work done without that file, or add it with Git LFS: the file is in the saved work"
	case strings.Contains(words, "GH008"):
		next = "have the work done without new Git LFS files, whose content omoi does not publish"
	case strings.Contains(words, "secret"):
		next = "have the work done without the secret, or allow it where GitHub says, then retry"
	}
	return task.Errorf(task.CodeConflict, "GitHub rejected the branch in %s: %s Next: %s", r.full(), words, next).WithCause(errors.Join(errRejected, cause))
}
