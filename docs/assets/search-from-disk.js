/* The search runs in a worker. Browsers start none from pages opened from the disk: there, a hidden frame does its work. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = "<!doctype html><title>search</title><body>"
      this.started = new Promise((resolve) => {
        this.frame.addEventListener("load", () => resolve(this.start(url)), { once: true })
      })
      document.body.append(this.frame)
    }

    async start(url) {
      const inside = this.frame.contentWindow
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = inside.document.createElement("script")
          script.src = source
          script.onload = resolve
          script.onerror = reject
          inside.document.body.append(script)
        })
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = async (...sources) => {
        for (const source of sources) await load(source)
      }
      await load(url)
      return inside
    }

    async postMessage(data) {
      const inside = await this.started
      inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
