package token

import (
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

const session = "s1"

// MintSession returns the secret of a session of a browser, which begins with an API key and ends at until at the
// latest. Nothing is stored: the reader of a session checks that the API key is still valid.
func (r *Ring) MintSession(keyID string, until time.Time) string {
	ends := strconv.FormatInt(until.Unix(), 10)
	return session + "." + keyID + "." + ends + "." + r.Mint(signedSession(keyID, ends))
}

// Session returns the API key with which a session began and the end of the session. [task.CodeUnauthorized] if no key
// of the ring can have minted the secret, or if the session has ended.
func (r *Ring) Session(secret string) (keyID string, until time.Time, err error) {
	rest, _ := strings.CutPrefix(secret, session+".")
	keyID, rest, _ = strings.Cut(rest, ".")
	ends, mac, _ := strings.Cut(rest, ".")
	seconds, err := strconv.ParseInt(ends, 10, 64)
	until = time.Unix(seconds, 0)
	if err != nil || r.Verify(mac, signedSession(keyID, ends)) != nil || !time.Now().Before(until) {
		return "", time.Time{}, task.Errorf(task.CodeUnauthorized, "The session has ended. Next: sign in again")
	}
	return keyID, until, nil
}

// LooksSession reports whether a credential has the form of the secret of a session.
func LooksSession(credential string) bool { return strings.HasPrefix(credential, session+".") }

// signedSession is not the ID of a sandbox, which holds no space.
func signedSession(keyID, ends string) string { return "session " + keyID + " " + ends }
