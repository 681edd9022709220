package openhands

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Tested is the version of the server that omoi is tested with, and the least one that it accepts.
const Tested = "1.58.0"

// Packages are the packages of a server. All have its version; they do not require each other's.
//
//nolint:gochecknoglobals // a table
var Packages = []string{"openhands-agent-server", "openhands-sdk", "openhands-tools", "openhands-workspace"}

// Info is what a server says of itself.
type Info struct {
	Version string   `json:"version"`
	SDK     string   `json:"sdk_version"`
	Tools   string   `json:"tools_version"`
	Uptime  float64  `json:"uptime"` // seconds; it goes down when the server restarts
	Usable  []string `json:"usable_tools"`
}

// Info asks the server for its versions. It needs no key.
func (c *Client) Info(ctx context.Context) (info Info, err error) {
	return info, c.ask(ctx, call{method: http.MethodGet, path: "/server_info", keyless: true}, &info)
}

// Check returns an error if omoi cannot use the server: its version, its parts, its tools, or its key.
func (c *Client) Check(ctx context.Context) (Info, error) {
	info, err := c.check(ctx)
	if task.CodeOf(err) == task.CodeNotFound { // a route, as opposed to a conversation
		err = task.Errorf(task.CodeUnavailable, "No OpenHands server answers at %s.", c.base).WithCause(err)
	}
	return info, err
}

func (c *Client) check(ctx context.Context) (Info, error) {
	info, err := c.Info(ctx)
	if err != nil {
		return info, err
	}
	if err := CheckVersions(info.Version, info.SDK, info.Tools); err != nil {
		return info, err
	}
	for _, tool := range []string{toolTerminal, toolEditor} {
		if !slices.Contains(info.Usable, tool) {
			return info, task.Invalid("url", "The OpenHands server at %s has no tool %s. Next: install tmux and git beside it, and restart it.", c.base, tool)
		}
	}
	return info, c.checkKey(ctx)
}

// checkKey returns an error if the server does not accept the key, or accepts requests without one.
func (c *Client) checkKey(ctx context.Context) error {
	count, number := call{method: http.MethodGet, path: "/api/conversations/count"}, 0
	if err := c.ask(ctx, count, &number); err != nil {
		if task.CodeOf(err) == task.CodeUnauthorized {
			return task.Errorf(task.CodeUnauthorized, "The OpenHands server at %s does not accept the key. Next: set WORKSPACE_REMOTE_API_KEY to a key of its session_api_keys.", c.base).WithCause(err)
		}
		return err
	}
	if c.key == "" {
		return nil
	}
	count.keyless = true
	switch err := c.ask(ctx, count, &number); {
	case err == nil:
		return task.Errorf(task.CodeForbidden, "The OpenHands server at %s answers without a key, so anyone who reaches it can run commands on it. Next: start it with OH_SESSION_API_KEYS_0.", c.base)
	case task.CodeOf(err) != task.CodeUnauthorized:
		return err
	}
	return nil
}

// Alive returns nil if the server answers an authenticated request: it answers /ready also when its conversations hang.
func (c *Client) Alive(ctx context.Context) error {
	return c.ask(ctx, call{method: http.MethodGet, path: "/api/conversations/count"}, new(int))
}

// Ready returns nil if the server has started.
func (c *Client) Ready(ctx context.Context) error {
	return c.ask(ctx, call{method: http.MethodGet, path: "/ready", keyless: true}, &struct{}{})
}

// CheckVersions returns an error if a server is older than [Tested], or if its parts have several versions.
func CheckVersions(server string, parts ...string) error {
	if older(server, Tested) {
		return task.Invalid("version", "The OpenHands server has version %q, and omoi needs %s or later. Next: %s", server, Tested, Install)
	}
	for _, part := range parts {
		if part != server {
			return task.Invalid("version", "The OpenHands server has version %s and a part with version %q. Next: %s", server, part, Install)
		}
	}
	return nil
}

// older reports whether a version is older than the least one. What is no version counts as old.
func older(version, least string) bool { return slices.Compare(numbers(version), numbers(least)) < 0 }

func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return all
		}
		all = append(all, n)
	}
	return all
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
