package github

import (
	"cmp"
	"net/url"
	"strings"

	gh "github.com/google/go-github/v66/github"
)

// API is where the API of a server is: GitHub's own, that of an enterprise's own domain at GitHub (<name>.ghe.com), or
// below /api/v3 of an Enterprise server. Empty is GitHub itself.
func API(web string) string {
	web = strings.TrimRight(cmp.Or(web, Web), "/")
	if web == Web {
		return "https://api.github.com"
	}
	u, err := url.Parse(web)
	if err == nil && strings.HasSuffix(strings.ToLower(u.Hostname()), ".ghe.com") {
		return u.Scheme + "://api." + u.Host
	}
	return web + "/api/v3"
}

// speaking points a client at the API of a server.
func speaking(api *gh.Client, web string) (*gh.Client, error) {
	if web == Web {
		return api, nil
	}
	return api.WithEnterpriseURLs(API(web), API(web))
}
