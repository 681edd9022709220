package credential

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Test is the result of a test of a credential.
type Test struct {
	Kind    string `json:"kind" doc:"Kind of the tested credential; of a test of model, the kind that was found."`
	Scope   string `json:"scope" enum:"user,project,organization,app,installation" doc:"Owner of the tested credential. More values may be added."`
	Number  int    `json:"number" doc:"Number of the tested credential among those of its owner and kind."`
	State   string `json:"state" enum:"valid,rejected,unreachable,unknown" doc:"valid: accepted by the provider; rejected: not accepted; unreachable: no usable answer; unknown: the answer tells nothing about the credential. More values may be added."`
	Message string `json:"message" doc:"What the provider answered, and the next step."`
}

// States of a tested credential, in addition to [StateValid].
const (
	StateRejected    = "rejected"
	StateUnreachable = "unreachable"
	StateUnknown     = "unknown"
)

// Test asks the provider, by a request that costs nothing, whether the credential that w would use is valid: the first
// one, or that with a number. A valid credential ends its cooldown.
func (s *Service) Test(ctx context.Context, w Who, name string, number int) (Test, error) {
	if name != Model {
		if err := cmp.Or(CheckKind(name), Place{Kind: name, Number: number}.check()); err != nil {
			return Test{}, err
		}
	}
	found, err := s.Find(ctx, w, name, number)
	if name == GitHub && s.appFor(w) && (task.CodeOf(err) == task.CodeNotFound || found.Scope == ScopeInstallation) {
		return s.testApp(ctx)
	}
	if err != nil {
		return Test{}, err
	}
	v := Test{Kind: found.Kind, Scope: found.Scope, Number: found.Number}
	switch found.Kind {
	case GitHub:
		v.State, v.Message = s.testGitHub(ctx, found)
	case Anthropic, ClaudeOAuth:
		v.State, v.Message = s.testModel(ctx, found)
	default:
		v.State, v.Message = StateUnknown, "Decrypted but not tested: omoi has no test for the provider "+found.Kind+". The first task shows whether the credential works."
	}
	if v.State != StateValid {
		return v, nil
	}
	if err := s.store.ProveCredential(ctx, w.OrganizationID, found.rowID, found.Kind); err != nil {
		return v, fmt.Errorf("end the cooldown of the %s: %w", nameOf(found.Kind), err)
	}
	return v, nil
}

func (s *Service) testGitHub(ctx context.Context, f Found) (state, says string) {
	base := strings.TrimSuffix(cmp.Or(s.cfg.GitHubURL, "https://api.github.com"), "/")
	status, header, body, err := s.ask(ctx, base+"/user", http.Header{"Authorization": {"Bearer " + f.Secret}, "Accept": {"application/vnd.github+json"}})
	switch {
	case err != nil:
		return unreachable(base, err)
	case status == http.StatusUnauthorized:
		return StateRejected, "GitHub rejected the token: wrong, revoked or expired. Next: omoi credentials set " + GitHub
	case status == http.StatusOK:
		return StateValid, gitHubSays(header, body)
	}
	return other("GitHub", base, status)
}

// gitHubSays returns the owner of a token, its expiry, and a missing scope, as sentences.
func gitHubSays(header http.Header, body []byte) string {
	var user struct {
		Login string `json:"login"`
	}
	if json.Unmarshal(body, &user) != nil || user.Login == "" {
		user.Login = "a user without a name"
	}
	says := "GitHub accepted the token of " + user.Login + "."
	if end := header.Get("Github-Authentication-Token-Expiration"); end != "" {
		says += " The token expires on " + end + "."
	}
	scopes, classic := header["X-Oauth-Scopes"]
	if classic && !strings.Contains(", "+strings.Join(scopes, ", ")+",", ", repo,") {
		says += " The token lacks the scope repo, which a push to private repositories needs."
	}
	return says
}

func (s *Service) testModel(ctx context.Context, f Found) (state, says string) {
	base := strings.TrimSuffix(cmp.Or(f.BaseURL, s.cfg.AnthropicURL, "https://api.anthropic.com"), "/")
	header := http.Header{"Anthropic-Version": {"2023-06-01"}}
	switch {
	case f.Kind == ClaudeOAuth:
		header.Set("Anthropic-Beta", "oauth-2025-04-20")
		fallthrough
	case f.Bearer:
		header.Set("Authorization", "Bearer "+f.Secret)
	default:
		header.Set("X-Api-Key", f.Secret)
	}
	status, _, _, err := s.ask(ctx, base+"/v1/models?limit=1", header)
	base = shownAddress(base)
	switch {
	case err != nil:
		return unreachable(base, err)
	case status == http.StatusUnauthorized:
		return StateRejected, base + " rejected the " + nameOf(f.Kind) + ": wrong, revoked or expired. Next: " + renew(f.Kind)
	case status == http.StatusOK:
		return StateValid, base + " accepted the " + nameOf(f.Kind) + "."
	case status == http.StatusForbidden && f.Kind == Anthropic:
		return StateRejected, base + " answered 403: the key lacks permission. Next: " + renew(f.Kind)
	case status == http.StatusNotFound, status == http.StatusForbidden:
		return StateUnknown, base + " does not list its models. The first task shows whether the " + nameOf(f.Kind) + " works."
	}
	return other(base, base, status)
}

func renew(kind string) string {
	if kind == ClaudeOAuth {
		return "claude setup-token, then omoi credentials set " + kind
	}
	return "omoi credentials set " + kind
}

func unreachable(base string, err error) (state, says string) {
	if errors.Is(err, errPrivate) {
		return StateUnknown, base + " is in the server's own network, where credentials are not tested by default. The first task shows whether the credential works. " +
			"An operator can allow the test with OMOI_CREDENTIAL_TEST_ALLOW_PRIVATE=true."
	}
	return StateUnreachable, "No answer from " + base + ". Next: check the server's network and proxy, then test again"
}

// other renders a status that does not tell whether the credential is valid.
func other(who, base string, status int) (state, says string) {
	switch {
	case status == http.StatusTooManyRequests:
		return StateUnknown, who + " answered 429: the rate limit is reached and the credential was not tested. Next: test again later"
	case status >= http.StatusInternalServerError:
		return StateUnreachable, fmt.Sprintf("%s answered %d: down or overloaded. Next: test again later", who, status)
	}
	return StateUnknown, fmt.Sprintf("%s answered %d, which does not show whether the credential works.", base, status)
}

// ask sends a GET request. The limits are 10 seconds and a body of 64 KiB; a longer body is cut.
func (s *Service) ask(ctx context.Context, address string, header http.Header) (status int, got http.Header, body []byte, err error) {
	const patience, longest = 10 * time.Second, 64 << 10
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header = header
	req.Header.Set("User-Agent", "omoi")
	client, err := s.reach.client(req)
	if err != nil {
		return 0, nil, nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(res.Body, longest))
	return res.StatusCode, res.Header, body, err
}
