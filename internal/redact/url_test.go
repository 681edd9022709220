package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/redact"
)

// A link of somebody's build machine may log in by itself.
func TestLinksAreShownWithoutLogins(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"https://ci.example.com/job/7?page=2#L10":                             "https://ci.example.com/job/7?page=2#L10",
		"https://github.com/acme/app/pull/7#discussion_r1":                    "https://github.com/acme/app/pull/7#discussion_r1",
		"https://bob:hunter22@ci.example.com/7":                               "https://ci.example.com/7",
		"https://ci.example.com/7?access_token=abc&page=2":                    "https://ci.example.com/7?access_token=[removed]&page=2",
		"https://ci.example.com/7?page=2;apiKey=abc":                          "https://ci.example.com/7?page=2&apiKey=[removed]",
		"https://ci.example.com/7?X-Amz-Signature=ab&X-Amz-Security-Token=cd": "https://ci.example.com/7?X-Amz-Signature=[removed]&X-Amz-Security-Token=[removed]",
		"https://ci.example.com/7?sv=1&sig=ab%2Fc":                            "https://ci.example.com/7?sv=1&sig=[removed]",
		"https://ci.example.com/7?%74oken=ab":                                 "https://ci.example.com/7?%74oken=[removed]",
		"https://ci.example.com/7#access_token=ab&state=1":                    "https://ci.example.com/7#access_token=[removed]&state=1",
		"https://ci.example.com/7?x=gh%70_0123456789abcdefghij":               "https://ci.example.com/7?x=[removed]",
		"https://ci.example.com/ghp_0123456789abcdefghij":                     "https://ci.example.com/[removed]",
		"javascript:alert(1)":                                                 "", "https://%zz": "", "ftp://ci.example.com": "", "": "", "https:///x": "",
	} {
		require.Equal(t, want, redact.URL(link), link)
	}
}
