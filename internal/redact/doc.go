// Package redact keeps secrets out of what is reported and shown: it knows the forms of credentials, decides which variables
// of an environment are secret, and takes their values out of texts. It hides what is printed
// by accident; an agent that spells a secret differently on purpose is not stopped.
package redact

// Hidden stands where a secret stood.
const Hidden = "[redacted]"

// least is the length from which a value is looked for in texts; a shorter one would take
// ordinary words with it.
const least = 8
