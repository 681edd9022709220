// Package config is the only reader of configuration files and of the environment.
//
// A setting has one key, for example sandbox.memory_gb, and is looked up in this order:
// a parameter of the command, the environment (then .env.local, then .env, of the
// working directory), YAML (<env>.yaml, then base.yaml, then the production.yaml built into
// the binary), its default. An empty environment variable counts as not set.
//
// Every key is also the variable OMOI_<KEY> in upper case, with underscores for dots; some
// keys have a legacy variable too. The struct tags of [Config] are the only source of names,
// defaults, bounds and documentation: docs/CONFIGURATION.md is generated from them.
package config
