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

// secondaryPause is the wait after a secondary rate limit without a Retry-After header. GitHub documents at least one
// minute.
const secondaryPause = time.Minute

// statusOf returns the HTTP status of GitHub's answer, 0 without an answer.
func statusOf(err error) int {
	if e, ok := errors.AsType[*gh.ErrorResponse](err); ok && e.Response != nil {
		return e.Response.StatusCode
	}
	return 0
}

// says returns GitHub's message with its details, "" if err is not an answer of GitHub.
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

// told converts an error of the REST API to a [task.Error]. doing completes "failed to", for example "merge pull
// request #1".
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
		return task.Errorf(task.CodeForbidden, "GitHub rejected the token's request to %s: %s. Next: give the token read and write access to contents and pull requests, then retry", at, says(err)).WithCause(err)
	case status == http.StatusNotFound:
		return r.absent(err)
	case status == http.StatusConflict:
		return task.Errorf(task.CodeConflict, "GitHub could not %s: %s.", at, says(err)).WithCause(errors.Join(errRejected, err))
	// The object exists, but GitHub does not show it yet.
	case status == http.StatusUnprocessableEntity && strings.Contains(says(err), "already exists"):
		return task.Errorf(task.CodeUnavailable, "GitHub does not yet show the created object after %s: %s.", at, says(err)).WithCause(err)
	case status == http.StatusUnprocessableEntity:
		return task.Errorf(task.CodeInvalid, "GitHub did not %s: %s.", at, says(err)).WithCause(err)
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return task.Errorf(task.CodeInvalid, "GitHub did not %s: it answered %d %s.", at, status, says(err)).WithCause(err)
	case errors.Is(err, context.Canceled): // a deadline may be that of one request, which GitHub did not answer
		return fmt.Errorf("%s: %w", at, err)
	}
	return task.Errorf(task.CodeUnavailable, "GitHub failed to %s.", at).WithCause(err)
}

// absent returns the error for a repository that does not exist or that the token cannot see: GitHub answers both in
// the same way.
func (r *repository) absent(cause error) error {
	return task.Invalid("repo", "Repository %s not found on %s, or the token has no access to it. Next: check %s and the permissions of the token",
		r.full(), r.host.web.Host, r.page("")).WithCause(cause)
}

// limited returns [task.CodeExhausted] with the wait until the next request, nil if err is not a rate limit.
func limited(err error) error {
	after, ok := pauseOf(err)
	if !ok {
		return nil
	}
	e := task.Errorf(task.CodeExhausted, "GitHub's rate limit is reached; it accepts requests again at %s.", time.Now().Add(after).UTC().Format("15:04:05 UTC")).WithCause(err)
	e.After = after
	return e
}

// pauseOf returns the wait that GitHub requests, and whether err is a rate limit.
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

// errRejected reports a conflict for which the server gave its own reason.
var errRejected = errors.New("rejected by GitHub")

// ruled returns the error for commits that the repository's rules reject. words is the server's message.
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
