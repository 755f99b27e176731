package main

import _ "embed"

// sdkAgent is a scripted agent on the official ACP SDK.
//
//go:embed sdk-agent.mjs
var sdkAgent []byte
