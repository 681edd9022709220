package omoios

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	noUser     = "Its user is not imported"
	notUsed    = "OmoiOS used another credential of the user and provider"
	notActive  = "It is not active"
	noSecret   = "It has no secret"
	needsKey   = "It is encrypted. Next: run again with " + KeyVariable + ", as OmoiOS has it"
	otherKey   = "It cannot be decrypted with " + KeyVariable
	tokenTable = "users.attributes.github_access_token"
)

type tokenRow struct {
	ID

	Token string
}

// gitHubTokens imports the GitHub tokens of logins, which OmoiOS uses before those of user_credentials.
func (r *run) gitHubTokens(ctx context.Context) error {
	if !r.src.has("users", "attributes") {
		return nil
	}
	secret := field("u.attributes", "github_access_token")
	from := "users u WHERE " + secret + " IS NOT NULL"
	k, err := r.kind(ctx, tokenTable, from)
	if err != nil {
		return err
	}
	return each(ctx, r, k, "SELECT u.id::text, "+secret+" FROM "+from+" ORDER BY 1", func(ctx context.Context, q *db.Queries, t tokenRow) (outcome, error) {
		return r.put(ctx, q, t.rowID(), map[string]credential.Value{credential.GitHub: {Secret: t.Token}})
	})
}

type credentialRow struct {
	ID

	UserID, Provider, Key, Encrypted, BaseURL, Model, Config *string
	Active                                                   *bool
	Rank                                                     int64
	Login                                                    bool // the user has a GitHub token of a login
}

func (r *run) credentials(ctx context.Context) error {
	const table = "user_credentials"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	c := func(column, kind string) string { return r.src.col(table, "c", column, kind) }
	login := "false"
	if r.src.has("users", "attributes") {
		login = field("u.attributes", "github_access_token") + " IS NOT NULL"
	}
	return each(ctx, r, k, "SELECT "+r.src.list(table, "c", "id text", "user_id text", "provider text", "api_key text", "encrypted_value text",
		"base_url text", "model text", "config_data text", "is_active boolean")+
		", row_number() OVER (PARTITION BY "+c("user_id", "text")+", "+c("provider", "text")+" ORDER BY coalesce("+c("is_active", "boolean")+", true) DESC, coalesce("+
		c("is_default", "boolean")+", false) DESC, "+c("created_at", "timestamptz")+" DESC NULLS LAST, "+c("id", "text")+"), "+login+
		" FROM user_credentials c"+r.src.join("users", "u", c("user_id", "text"))+" ORDER BY 1", r.addCredential)
}

func (r *run) addCredential(ctx context.Context, q *db.Queries, c credentialRow) (outcome, error) {
	provider := task.Deref(c.Provider)
	switch {
	case c.UserID == nil:
		return skip(noUser), nil
	case c.Active != nil && !*c.Active:
		return skip(notActive), nil
	case c.Rank > 1, provider == credential.GitHub && c.Login:
		return skip(notUsed), nil
	}
	secret, reason := r.secret(c)
	if reason != "" {
		return skip(reason), nil
	}
	return r.put(ctx, q, *c.UserID, valuesOf(c, provider, secret))
}

// secret returns the decrypted secret of a credential, or why there is none.
func (r *run) secret(c credentialRow) (secret, reason string) {
	plain, sealed := task.Deref(c.Key), task.Deref(c.Encrypted)
	switch {
	case sealed == "" || plain != "" && r.fernet == nil:
		return plain, ""
	case r.fernet == nil:
		return "", needsKey
	}
	secret, err := r.fernet.open(sealed)
	if err != nil && plain == "" {
		return "", otherKey
	}
	return cmp.Or(secret, plain), ""
}

// valuesOf returns the credentials of omoi by kind. A credential of Anthropic may hold the token of a subscription too.
func valuesOf(c credentialRow, provider, secret string) map[string]credential.Value {
	var config struct {
		Token  string `json:"oauth_token"`
		Model  string `json:"model"`
		Haiku  string `json:"default_haiku_model"`
		Sonnet string `json:"default_sonnet_model"`
		Opus   string `json:"default_opus_model"`
	}
	_ = json.Unmarshal([]byte(task.Deref(c.Config)), &config) // without models, the agent decides
	values := map[string]credential.Value{}
	models := credential.Models{Model: cmp.Or(task.Deref(c.Model), config.Model)}
	if provider == credential.Anthropic {
		models.Haiku, models.Sonnet, models.Opus = config.Haiku, config.Sonnet, config.Opus
		if config.Token != "" {
			values[credential.ClaudeOAuth] = credential.Value{Secret: config.Token, Models: models}
		}
	}
	if secret != "" {
		values[provider] = credential.Value{Secret: secret, BaseURL: task.Deref(c.BaseURL), Models: models}
	}
	if provider == credential.GitHub {
		values[provider] = credential.Value{Secret: secret}
	}
	return values
}

// put encrypts and stores credentials of a user. It replaces none.
func (r *run) put(ctx context.Context, q *db.Queries, user string, values map[string]credential.Value) (outcome, error) {
	id := idOf("user", user)
	organization, found, err := userOf(ctx, q, id)
	switch {
	case err != nil || !found:
		return skip(noUser), err
	case r.into != "" && organization != r.into:
		return skip(elsewhere), nil
	}
	if len(values) == 0 {
		return skip(noSecret), nil
	}
	for kind, value := range values {
		if err := value.Check(kind); err != nil {
			return skip(err.Error()), nil
		}
	}
	out := outcome{existing: true}
	for kind, value := range values {
		v := &vault{q: q}
		place := credential.Place{Who: credential.Who{OrganizationID: organization, UserID: id}, Kind: kind}
		if _, err := credential.New(credential.Config{}, r.Ring, v).Set(ctx, place, value); err != nil {
			return out, err
		}
		out.existing = out.existing && v.existed
	}
	return out, nil
}

// vault stores what a [credential.Service] encrypts.
type vault struct {
	credential.Store // nil: nothing else is called

	q       *db.Queries
	existed bool
}

// PutCredential implements [credential.Store].
func (v *vault) PutCredential(ctx context.Context, p credential.Place, keyID string, sealed []byte) (credential.Row, error) {
	added, err := v.q.ImportCredential(ctx, db.ImportCredentialParams{
		ID: task.NewID(), OrganizationID: p.OrganizationID, UserID: &p.UserID, Kind: p.StoredKind(), KeyID: keyID, Sealed: sealed,
	})
	v.existed = added == 0
	return credential.Row{Place: p, KeyID: keyID, Sealed: sealed}, err
}
