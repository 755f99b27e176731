// Package testmodel is a model server without a model: a loopback HTTP
// server that speaks the provider APIs that coding agents call (OpenAI
// Responses and Chat Completions, Anthropic Messages, Gemini) and answers by
// a script that a word in the prompt picks.
//
// # Scripts
//
// The newest real message of the user chooses with SCENARIO=word; without
// it the script is text. CMD=… (to the end of the line) and FILE=… give a
// tool call's command or path; ESCALATE asks Codex to run outside its
// sandbox. See [scripts] for the words. A request that offers no tools (a
// title, a summary, a classifier) gets a short text at once, unless the
// script is an HTTP error, so that side calls are never taken for the turn.
//
// # Concurrency
//
// A [Server] serves any number of connections. Close waits for its
// goroutines.
package testmodel
