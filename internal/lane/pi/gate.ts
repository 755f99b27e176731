// Asks the host before every tool call. The title of the question is JSON, so
// that the host can join it with the call; anything but "allow_once" blocks.
export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => {
    ctx.ui.setStatus("dragoman-gate", "ready");
  });
  pi.on("tool_call", async (event: any, ctx: any) => {
    const question = JSON.stringify({
      gate: "dragoman",
      toolCallId: event.toolCallId,
      parentToolCallId: event.parentToolCallId,
      toolName: event.toolName,
      input: event.input,
    });
    const answer = await ctx.ui.select(question, ["allow_once", "reject_once"]);
    if (answer === "allow_once") return undefined;
    const reason = typeof answer === "string" ? answer.replace(/^reject_once\n?/, "") : "";
    return { block: true, reason: reason || "The user refused this." };
  });
}
